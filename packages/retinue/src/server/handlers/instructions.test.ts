import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { call, say, when } from "../../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "./small-world.ts";

function put({ folder }: SmallWorld, name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const countOf = (text: string, { provider }: SmallWorld, at = -1): number =>
  JSON.stringify(provider.requests.at(at)?.messages).split(text).length - 1;

test("instructions for a kind of file and of a nested folder come once, with the first call about such a file, to each agent", async () => {
  const views = [call("view", { path: "src/a.ts" }), call("view", { path: "src/b.ts" })];
  const turns = [
    views,
    [call("view", { path: "src/a.ts" })],
    [call("task", { agent_type: "explore", name: "it", description: "d", prompt: "CHILD" })],
    when("CHILD", [call("view", { path: "src/b.ts" })]),
    when("CHILD", [say("seen")]),
    [say("done")],
  ];
  await inSmallWorld(turns, async (world) => {
    put(world, ".github/instructions/ts.instructions.md", "---\napplyTo: '**/*.ts'\n---\nUSE-TABS");
    put(world, "src/AGENTS.md", "DEEP-WORDS");
    for (const name of ["a", "b"]) put(world, `src/${name}.ts`, "export {}");
    const sessionId = await world.create({ enableConfigDiscovery: true });
    await world.client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await world.send(sessionId, "go");
    const ofMain = world.provider.requests.length - 1;
    expect([countOf("USE-TABS", world, 0), countOf("DEEP-WORDS", world, 0)]).toEqual([0, 0]);
    expect([countOf("USE-TABS", world, ofMain), countOf("DEEP-WORDS", world, ofMain)]).toEqual([1, 1]);
    expect(countOf("USE-TABS", world, ofMain - 1)).toBe(1);
    const { sources } = await world.client.call("session.instructions.getSources", { sessionId });
    expect(sources.map(({ sourcePath, type }) => [sourcePath, type])).toEqual([
      [".github/instructions/ts.instructions.md", "vscode"],
      ["src/AGENTS.md", "child-instructions"],
    ]);
  });
});

test("instructions are discovered in a folder without a session, and nothing comes where it is switched off", async () => {
  await inSmallWorld([[call("view", { path: "src/a.ts" })], [say("done")]], async (world) => {
    put(world, "AGENTS.md", "ROOT-WORDS");
    put(world, "src/AGENTS.md", "DEEP-WORDS");
    put(world, "src/a.ts", "export {}");
    const { sources } = await world.client.call("instructions.discover", { projectPaths: [world.folder] });
    expect(sources).toMatchObject([{ content: "ROOT-WORDS", projectPath: world.folder, type: "repo" }]);
    const sessionId = await world.create({ enableConfigDiscovery: true, enableOnDemandInstructionDiscovery: false });
    await world.client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await world.send(sessionId, "go");
    expect(world.provider.requests.at(-1)?.system).toContain("ROOT-WORDS");
    expect(countOf("DEEP-WORDS", world)).toBe(0);
  });
});

test("a file of instructions that changes, comes or goes counts from the next prompt on, and otherwise the prompt stays the same", async () => {
  const turns = ["one", "two", "three", "four", "five"].map((word) => [say(word)]);
  await inSmallWorld(turns, async (world) => {
    put(world, "AGENTS.md", "FIRST-WORDS");
    const sessionId = await world.create({ enableConfigDiscovery: true });
    const systemAfter = async (prompt: string) => {
      await world.send(sessionId, prompt);
      return world.provider.requests.at(-1)?.system ?? "";
    };
    const shown = async () => {
      const { sources } = await world.client.call("session.instructions.getSources", { sessionId });
      return sources.map(({ content }) => content);
    };
    const before = await systemAfter("a");
    expect(before).toContain("FIRST-WORDS");
    expect(await systemAfter("b")).toBe(before);
    put(world, "AGENTS.md", "OTHER-WORDS");
    put(world, ".github/copilot-instructions.md", "NEW-WORDS");
    put(world, ".github/instructions/all.instructions.md", "MORE-WORDS");
    expect(await shown()).toEqual(["OTHER-WORDS", "NEW-WORDS", "MORE-WORDS"]);
    const after = await systemAfter("c");
    for (const words of ["OTHER-WORDS", "NEW-WORDS", "MORE-WORDS"]) expect(after).toContain(words);
    expect(after).not.toContain("FIRST-WORDS");
    rmSync(join(world.folder, "AGENTS.md"));
    rmSync(join(world.folder, ".github/instructions/all.instructions.md"));
    expect(await systemAfter("d")).not.toMatch(/OTHER-WORDS|MORE-WORDS/);
    expect(await shown()).toEqual(["NEW-WORDS"]);
    put(world, "AGENTS.md", "FIRST-WORDS");
    rmSync(join(world.folder, ".github"), { recursive: true });
    expect(await systemAfter("e")).toBe(before);
  });
});

test("one that has become unreadable is told before the next prompt, and one of a deeper folder as well", async () => {
  await inSmallWorld([[call("view", { path: "src/a.ts" })], [say("x")], [say("y")]], async (world) => {
    put(world, "src/a.ts", "export {}");
    symlinkSync("/etc/hostname", join(world.folder, "src/AGENTS.md"));
    const sessionId = await world.create({ enableConfigDiscovery: true });
    await world.client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await world.send(sessionId, "go");
    mkdirSync(join(world.folder, "AGENTS.md"));
    await world.send(sessionId, "on");
    const told = world.client.of("session.warning").map(({ message }) => message);
    expect(told).toEqual([
      expect.stringMatching(/AGENTS\.md was not read: it is a folder/),
      expect.stringMatching(/src\/AGENTS\.md was not read: it is a link that leads out/),
    ]);
  });
});

test("words for certain files that have changed are given again with the next such file", async () => {
  const view = () => [call("view", { path: "src/a.ts" })];
  await inSmallWorld([view(), [say("x")], view(), [say("y")], view(), [say("z")]], async (world) => {
    put(world, "src/a.ts", "export {}");
    const file = put(world, "src/AGENTS.md", "DEEP-ONE");
    const sessionId = await world.create({ enableConfigDiscovery: true });
    await world.client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await world.send(sessionId, "go");
    await world.send(sessionId, "again");
    expect(countOf("DEEP-ONE", world)).toBe(1);
    writeFileSync(file, "DEEP-TWO");
    await world.send(sessionId, "and again");
    expect([countOf("DEEP-ONE", world), countOf("DEEP-TWO", world)]).toEqual([1, 1]);
    const { sources } = await world.client.call("session.instructions.getSources", { sessionId });
    expect(sources).toMatchObject([{ content: "DEEP-TWO", type: "child-instructions" }]);
  });
});

test("a prompt that waited has the instructions that the one before it wrote", async () => {
  const turns = [[call("create", { path: "AGENTS.md", file_text: "LATE-WORDS" })], [say("x")], [say("y")]];
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const sessionId = await create({ enableConfigDiscovery: true });
    await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await client.call("session.send", { sessionId, prompt: "write" });
    await client.call("session.send", { sessionId, prompt: "read" });
    await client.received("session.idle");
    expect(provider.requests.map(({ system }) => system.includes("LATE-WORDS"))).toEqual([false, false, true]);
  });
});
