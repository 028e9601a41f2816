import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMANDS } from "./commands/all.ts";
import { completionScript } from "./completion.ts";
import { allPlaces } from "./completion-table.ts";

const folder = mkdtempSync(join(tmpdir(), "retinue-completion-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
/** Stands for the program, which the script asks for sessions. */
const program = join(folder, "retinue");
writeFileSync(program, "#!/bin/sh\nprintf 'ID  AGE\\n3f2a91c0  now\\n909bb39b  1h\\n'\n");
chmodSync(program, 0o755);

function inBash(...lines: readonly string[][]): string[][] {
  const calls = lines.map(
    (words) =>
      `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _retinue; echo "\${COMPREPLY[*]}"`,
  );
  const script = [completionScript("bash", COMMANDS), ...calls].join("\n");
  return execFileSync("bash", ["--norc", "-c", script], { encoding: "utf8" })
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" ").filter(Boolean));
}

test("bash completes commands, subcommands, options, their values and sessions", () => {
  const [commands, groups, options, chosen, resumed, shown, short] = inBash(
    [program, "se"],
    [program, "sessions", "d"],
    [program, "sessions", "list", "--"],
    [program, "-p", "x", "--mode", ""],
    [program, "--resume", "9"],
    [program, "sessions", "show", ""],
    [program, "completion", ""],
  );
  expect(commands).toEqual(["serve", "search", "sessions"]);
  expect(groups).toEqual(["delete"]);
  expect(options).toEqual(["--all", "--limit", "--json", "--home", "--help"]);
  expect(chosen).toEqual(["interactive", "plan", "autopilot"]);
  expect(resumed).toEqual(["909bb39b"]);
  expect(shown).toEqual(["3f2a91c0", "909bb39b"]);
  expect(short).toEqual(["bash", "zsh", "fish"]);
});

test.each(["bash", "zsh", "fish"] as const)("the script for %s has every command and every option", (shell) => {
  const script = completionScript(shell, COMMANDS);
  for (const { commands, options } of allPlaces(COMMANDS))
    for (const { name } of [...commands, ...options])
      expect(script).toContain(shell === "fish" ? name.replace(/^--/, "-l ") : name);
});
