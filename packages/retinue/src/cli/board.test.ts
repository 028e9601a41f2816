/** `retinue board`: the notes of a repository, for people; and many processes that write at once. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { type CliWorld, cliWorld, modelWorld } from "./test-world.ts";

const git = (cwd: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd, stdio: "pipe" });

async function shown(world: CliWorld, ...args: string[]): Promise<{ entries: { id: string; text: string }[] }> {
  return JSON.parse((await world.run(["board", "show", "--json", ...args])).stdout);
}
const textsOf = async (world: CliWorld, ...args: string[]) =>
  (await shown(world, ...args)).entries.map(({ text }) => text);

test("what an agent notes in one run is in the prompt of the next, and board show prints it", async () => {
  await using world = await modelWorld(({ prompt, results: [result] }) =>
    prompt.includes("note it") && result === undefined
      ? call("context_board", { command: "add", text: "The cache must be warm." })
      : say("ok"),
  );
  expect((await world.run(["board", "show"])).stdout).toMatch(/is empty\.\n$/);
  expect((await world.run(["-p", "note it", "--quiet"])).code).toBe(0);
  await world.run(["-p", "go on", "--quiet"]);
  expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain("The cache must be warm.");
  expect((await world.run(["board", "show"])).stdout).toMatch(
    /^note-1 {2}The cache must be warm\.\n {4}main, .*, session /,
  );
});

test("edit takes lines from standard input as the whole board, or opens the editor", async () => {
  await using world = cliWorld();
  await world.run(["board", "edit"], { input: "one\ntwo\n# three\n" });
  expect(await textsOf(world)).toEqual(["one", "two"]);
  const { stdout: lines } = await world.run(["board", "show", "--lines"]);
  const { stdout } = await world.run(["board", "edit", "--json"], { input: lines.replace(": one", ": uno") });
  expect(JSON.parse(stdout)).toEqual({ added: ["note-3"], removed: ["note-1"], pruned: [] });
  expect(await textsOf(world)).toEqual(["two", "uno"]);

  const script = join(world.root, "editor.sh");
  writeFileSync(script, '#!/bin/sh\nsed -i "/two/d" "$1"\necho "password=hunter2hunter2 works" >> "$1"\n');
  chmodSync(script, 0o755);
  expect((await world.run(["board", "edit"], { env: { EDITOR: script, VISUAL: "" } })).code).toBe(0);
  const [first, second, ...rest] = await textsOf(world);
  expect([first, rest]).toEqual(["uno", []]);
  expect(second).not.toContain("hunter2");

  const { code, stderr } = await world.run(["board", "edit"], { env: { EDITOR: "", VISUAL: "" } });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("set VISUAL or EDITOR") });
  expect(await textsOf(world)).toHaveLength(2);
});

test("what an agent adds while a person edits stays", async () => {
  await using world = cliWorld();
  await world.run(["board", "edit"], { input: "one\n" });
  const script = join(world.root, "editor.sh");
  const inner = `echo "note-1: one\\nmeanwhile" | ${process.execPath} ${process.cwd()}/bin/retinue.js board edit`;
  writeFileSync(script, `#!/bin/sh\n${inner}\nsed -i "/one/d" "$1"\n`);
  chmodSync(script, 0o755);
  await world.run(["board", "edit"], { env: { EDITOR: script, VISUAL: "" } });
  expect(await textsOf(world)).toEqual(["meanwhile"]);
});

test("the question of clear names the branch of a repository and ends with its question mark", async () => {
  await using world = cliWorld();
  execFileSync("git", ["init", "-q", "-b", "main"], { cwd: world.folder });
  await world.run(["board", "edit"], { input: "one\n" });
  const { stderr } = await world.run(["board", "clear"]);
  expect(stderr).toContain(", branch main? Nobody can be asked here");
});

test("clear asks or needs --yes, off hides everything on every branch, and on brings it back", async () => {
  await using world = cliWorld();
  await world.run(["board", "edit"], { input: "one\n" });
  expect((await world.run(["board", "clear"])).code).toBe(2);
  expect((await world.run(["board", "off"])).stdout).toMatch(/is off, on every branch/);
  expect(await shown(world)).toMatchObject({ isOff: true, entries: [] });
  expect((await world.run(["board", "edit"], { input: "two\n" })).code).toBe(1);
  expect(await world.run(["board", "clear"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Remove 1 note"),
  });
  await world.run(["board", "on"]);
  expect(await textsOf(world)).toEqual(["one"]);
  expect((await world.run(["board", "clear", "--yes"])).stdout).toBe("Removed 1 note.\n");
  expect(await textsOf(world)).toEqual([]);
});

test("a folder that is not there has no board, whatever repository is around it", async () => {
  await using world = cliWorld();
  await world.run(["board", "edit"], { input: "one\n" });
  for (const command of [["show"], ["edit"], ["clear", "--yes"], ["off"], ["on"]])
    expect(await world.run(["board", ...command, "main"], { input: "two\n" })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/there is no folder .*main; for a branch: --branch/),
    });
  expect(await textsOf(world)).toEqual(["one"]);
});

test("a worktree shows the notes of its repository by --branch", async () => {
  await using world = cliWorld();
  const repo = join(world.folder, "repo");
  mkdirSync(repo);
  git(repo, "init", "--quiet", "--initial-branch=main");
  git(repo, "commit", "--quiet", "--allow-empty", "-m", "first");
  git(repo, "worktree", "add", "--quiet", "-b", "side/odd name".replace(" ", "-"), join(world.folder, "tree"));
  await world.run(["board", "edit"], { input: "on main\n", cwd: repo });
  expect(await textsOf(world, join(world.folder, "tree"))).toEqual([]);
  expect(await textsOf(world, join(world.folder, "tree"), "--branch", "main")).toEqual(["on main"]);
});

test("of 200 notes that two processes add at once, none is lost before the board is full", async () => {
  const kept: string[] = [];
  await using world = await modelWorld(({ prompt, results }) => {
    if (results.length === 0)
      return Array.from({ length: 100 }, (_, at) => call("context_board", { command: "add", text: `${prompt} ${at}` }));
    kept.push(...results);
    return say("ok");
  });
  const ended = await Promise.all(["a", "b"].map((name) => world.run(["-p", name, "--quiet"])));
  expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ""],
    [0, ""],
  ]);
  const ids = kept.map((words) => /^Kept as (note-\d+)\./.exec(words)?.[1]);
  expect(new Set(ids).size).toBe(200);
  expect(ids).not.toContain(undefined);
  const { entries } = await shown(world);
  expect(entries.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, at) => `note-${at + 101}`));
});
