/** The screens in docs/cli.md are what the program shows: it runs at a real terminal, and what is on it is compared with the page. */
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { TestScreen } from "./test-screen.ts";
import { canHaveTerminal, modelWorld } from "./test-world.ts";

const SIZE = { columns: 120, rows: 30 };

/** Prints, and then waits until it is let go, so that the screen can be looked at meanwhile. */
const CHECK = `#!/bin/sh
for name in parses prints reads writes; do echo "ok $name"; done
echo "not ok adds: expected 3, got -1"
while [ ! -e go ]; do sleep 0.05; done
exit 1
`;

test.runIf(canHaveTerminal)(
  "the page shows a running command, a question below the tree, and the end as they are",
  async () => {
    await using world = await modelWorld(({ prompt, results: { length } }) => {
      const mender = [
        call("edit", { path: "add.js", old_str: "a - b", new_str: "a + b" }),
        call("bash", { command: "git push", description: "push" }),
        say("Mended, and not pushed."),
      ];
      const main = [
        { text: "I run the checks first.", ...call("bash", { command: "./check", description: "check" }) },
        call("task", { name: "mender", agent_type: "general-purpose", description: "mends", prompt: "MEND" }),
        say("The sum was a difference. It is mended, and not pushed."),
      ];
      return (prompt.includes("MEND") ? mender : main)[length] ?? say("");
    });
    world.put("add.js", "export const add = (a, b) => a - b;\n");
    chmodSync(world.put("check", CHECK), 0o755);
    const rules = ["--allow-tool", "write", "--allow-tool", "shell(./check)"];
    const running = world.start(["-p", "Mend the sum", ...rules], { terminal: SIZE, staysOpen: true });
    const screen = new TestScreen(SIZE);
    const seen: string[] = [];
    const look = (isThere: boolean, next: () => void) => {
      if (!isThere) return;
      seen.push(comparable(screen.text));
      next();
    };
    running.process.stdout?.on("data", (text: string) => {
      screen.print(text);
      look(seen.length === 0 && screen.text.endsWith("got -1"), () => writeFileSync(join(world.folder, "go"), ""));
      look(seen.length === 1 && /^Allow\?.*\]$/m.test(screen.text), () => running.process.stdin?.end("n\n"));
    });
    const { code } = await running.ended;
    expect([...seen, comparable(screen.text)]).toEqual(screensOfPage().map(comparable));
    expect(code).toBe(0);
  },
);

/** In their order, without command lines. */
function screensOfPage(): string[] {
  const page = readFileSync(new URL("../../../../docs/cli.md", import.meta.url), "utf8");
  const [, part = ""] = /<!-- screens -->([\s\S]*)<!-- \/screens -->/.exec(page) ?? [];
  return [...part.matchAll(/^```\n([\s\S]*?)\n```$/gm)].map(([, text = ""]) => text.replaceAll(/^\$ .*\n/gm, ""));
}

/** Without times and ids, which differ from run to run, folders, and the notice about an old Node. */
function comparable(text: string): string {
  return text
    .replaceAll(/^Node \d+ is past .*\n/gm, "")
    .replaceAll(/\d+(\.\d)?s\b/g, "0s")
    .replaceAll(/session [0-9a-f]{8}/g, "session 0")
    .replaceAll(/\(\/.*\)$/gm, "(a folder)")
    .replaceAll(/ +$/gm, "")
    .trim();
}
