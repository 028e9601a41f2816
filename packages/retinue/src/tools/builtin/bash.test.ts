import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type SmallWorld, smallWorld } from "../small-world.ts";
import { bashTool } from "./bash.ts";
import { listBashTool } from "./list-bash.ts";
import { readBashTool } from "./read-bash.ts";
import { stopBashTool } from "./stop-bash.ts";
import { writeBashTool } from "./write-bash.ts";

const bash = bashTool();
const readBash = readBashTool();
const writeBash = writeBashTool();
const stopBash = stopBashTool();
const listBash = listBashTool();

let world: SmallWorld;
beforeEach(() => {
  world = smallWorld();
});
afterEach(() => world.close());

const run = (command: string, more: object = {}) => world.call(bash, { command, description: "d", ...more });

describe("a sync command", () => {
  test("gives its output and exit code, and its shell is gone", async () => {
    const outcome = await run("echo out; echo err >&2");
    expect(outcome).toEqual({
      resultType: "success",
      text: "out\nerr\n<shellId: 0 completed with exit code 0>",
      shellExecution: { exitCode: 0 },
      contents: [{ type: "shell_exit", shellId: "0", exitCode: 0, cwd: world.folder, outputPreview: "out\nerr\n" }],
    });
    expect(world.context.services.shells.list()).toEqual([]);
  });

  test("that fails is a success with another exit code", async () => {
    const outcome = await run("printf x; exit 2");
    expect(outcome).toMatchObject({ resultType: "success", text: "x\n<shellId: 0 completed with exit code 2>" });
  });

  test("runs in the working folder, without a description too", async () => {
    expect((await world.call(bash, { command: "pwd" })).text).toContain(`${world.folder}\n`);
  });

  test("longer than initial_wait goes on in the background, and its end can be read", async () => {
    const long = await run("echo one; while ! test -f go; do sleep 0.02; done; echo two", { initial_wait: 0.3 });
    expect(long.text).toContain("one\n<shellId: 0 is still running");
    expect(long.shellExecution).toBeUndefined();
    world.file("go", "");
    const end = await world.call(readBash, { shellId: "0", delay: 20 });
    expect(end.text).toBe("two\n<shellId: 0 completed with exit code 0>");
  });

  test("that is promoted returns at once", async () => {
    const outcome = run("sleep 300", { shellId: "s" });
    await new Promise<void>((resolve) => {
      const look = () => (world.context.services.shells.get("s") ? resolve() : setImmediate(look));
      look();
    });
    world.context.services.shells.get("s")?.promote();
    expect((await outcome).text).toContain("<shellId: s is still running");
  });

  test("is killed when the call is aborted", async () => {
    const outcome = run("echo pid $$; sleep 300", { shellId: "s" });
    await new Promise<void>((resolve) => {
      const look = () =>
        world.context.services.shells.get("s")?.output().includes("pid") ? resolve() : setTimeout(look, 5);
      look();
    });
    const pid = world.context.services.shells.get("s")?.pid;
    world.abort();
    expect(await outcome).toMatchObject({ resultType: "failure", error: "The command was stopped" });
    expect(() => process.kill(-Number(pid), 0)).toThrow("ESRCH");
  });

  test("with more output than fits names the file that has all of it", async () => {
    const outcome = await run("seq 1 20000");
    expect(outcome.text).toContain("Output too large to read at once (106.3 KB). Saved to: ");
    expect(outcome.text.endsWith("20000\n<shellId: 0 completed with exit code 0>")).toBe(true);
    const [exit] = outcome.contents ?? [];
    expect(exit).toMatchObject({ outputTruncated: true });
    const file = /Saved to: (.*)/.exec(outcome.text)?.[1];
    expect(readFileSync(String(file), "utf8")).toHaveLength(108_894);
  });

  test("with 10 MB of output is bounded the same way", async () => {
    const outcome = await run("head -c 10000000 /dev/zero | tr '\\0' x");
    expect(outcome.text).toContain("(9.5 MB)");
    expect(outcome.text.length).toBeLessThan(7000);
    expect(world.partials.every((partial) => partial.length <= 10_000)).toBe(true);
  });

  test("streams the output so far, and less often than it is written", async () => {
    await run("for i in $(seq 1 300); do echo $i; done");
    expect(world.partials.length).toBeGreaterThan(0);
    expect(world.partials.length).toBeLessThan(50);
    expect(world.partials.at(-1)?.endsWith("299\n300\n")).toBe(true);
  });
});

describe("an async command", () => {
  test("returns its id at once, is listed, read once and then reclaimed", async () => {
    expect((await run("echo a; sleep 0.1; echo b", { mode: "async", shellId: "sh1" })).text).toBe(
      "<command started in background with shellId: sh1>",
    );
    expect((await world.call(listBash, {})).text).toContain("shellId: sh1");
    const read = await world.call(readBash, { shellId: "sh1", delay: 20 });
    expect(read.text).toBe("a\nb\n<shellId: sh1 completed with exit code 0>");
    expect((await world.call(listBash, {})).text).toBe("<no active shell sessions>");
    expect(await world.call(readBash, { shellId: "sh1", delay: 0 })).toEqual({
      resultType: "failure",
      text: "shellId: sh1 was reclaimed and is no longer available.\n\n<no active shell sessions>",
    });
  });

  test("an unknown id cannot be read", async () => {
    expect((await world.call(readBash, { shellId: "zzz", delay: 1 })).text).toBe(
      "shellId: zzz not found or was never created. Please supply a valid shell ID.\n\n<no active shell sessions>",
    );
  });

  test("an id of a running shell is refused before anybody is asked", async () => {
    await run("sleep 300", { mode: "async", shellId: "x" });
    await expect(world.permission(bash, { command: "ls", shellId: "x" })).rejects.toThrow("x is running");
  });

  test("stops with stop_bash, which is content with an unknown id too", async () => {
    await run("sleep 300", { mode: "async", detach: true, shellId: "sh2" });
    const pid = world.context.services.shells.get("sh2")?.pid;
    expect((await world.call(stopBash, { shellId: "sh2" })).text).toBe("<command with id: sh2 stopped>");
    expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
    expect((await world.call(stopBash, { shellId: "zzz" })).text).toBe("<command with id: zzz stopped>");
  });

  test("detached, it says so", async () => {
    expect((await run("true", { detach: true, shellId: "d" })).text).toBe(
      "<command started in detached background with shellId: d>",
    );
  });
});

describe("write_bash", () => {
  test("types text and keys, and reads the answer", async () => {
    await run('while read line; do echo "got $line"; done; echo end', { mode: "async", shellId: "s" });
    const first = await world.call(writeBash, { shellId: "s", input: "a{enter}b{enter}", delay: 0.3 });
    expect(first.text).toContain("got a\ngot b\n<shellId: s is still running");
    const last = await world.call(writeBash, { shellId: "s", input: "{ctrl-d}", delay: 20 });
    expect(last.text).toBe("end\n<shellId: s completed with exit code 0>");
  });

  test("{ctrl-c} interrupts", async () => {
    await run("trap 'echo caught; exit 3' INT; while true; do sleep 0.02; done", { mode: "async", shellId: "s" });
    await world.call(readBash, { shellId: "s", delay: 0.3 });
    const outcome = await world.call(writeBash, { shellId: "s", input: "{ctrl-c}", delay: 20 });
    expect(outcome.text.endsWith("caught\n<shellId: s completed with exit code 3>")).toBe(true);
  });

  test("needs a permission for the whole text that the program reads, also what was typed before", async () => {
    const asked = (text: string) => world.permission(writeBash, { shellId: "s", input: text, delay: 0 });
    await run("cat", { mode: "async", shellId: "s" });
    expect(await asked("rm -rf x{enter}")).toMatchObject({
      kind: "shell",
      fullCommandText: "rm -rf x\n",
      commands: [{ identifier: "rm -rf x\n", readOnly: false }],
      canOfferSessionApproval: false,
    });
    await world.call(writeBash, { shellId: "s", input: "ls{enter}rm ", delay: 0 });
    await world.call(writeBash, { shellId: "s", input: "-rf ", delay: 0 });
    expect(await asked("x{ctrl-d}")).toMatchObject({ fullCommandText: "rm -rf x{ctrl-d}" });
    await world.call(writeBash, { shellId: "s", input: "{enter}", delay: 0 });
    expect(await asked("y")).toMatchObject({ fullCommandText: "y" });
  });

  test("types nothing when another call has typed after the permission was asked", async () => {
    await run("cat", { mode: "async", shellId: "s" });
    const late = await writeBash.prepare({ shellId: "s", input: "x{enter}", delay: 0 }, world.context);
    await world.call(writeBash, { shellId: "s", input: "rm ", delay: 0 });
    expect(await late.run()).toMatchObject({ resultType: "failure", text: expect.stringContaining("meanwhile") });
    const asked = await world.permission(writeBash, { shellId: "s", input: "y", delay: 0 });
    expect(asked).toMatchObject({ fullCommandText: "rm y" });
  });

  test("says so when the command takes no input", async () => {
    await run("sleep 300", { initial_wait: 0, shellId: "s" });
    expect((await world.call(writeBash, { shellId: "s", input: "x", delay: 0 })).text).toContain("takes no input");
  });
});

test("a permission says what the command is for, and is asked before anything runs", async () => {
  const permission = await world.permission(bash, { command: "touch made", description: "make it" });
  expect(permission).toMatchObject({
    kind: "shell",
    intention: "make it",
    commands: [{ identifier: "touch", readOnly: false }],
  });
  expect(existsSync(path.join(world.folder, "made"))).toBe(false);
});
