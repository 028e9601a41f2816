import { mkdirSync, writeFileSync } from "node:fs";
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
