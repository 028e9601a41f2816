import { call, say } from "@retinue/sdk/testing";
import { describe, expect, test } from "vitest";
import { type CliWorld, cliWorld, type ModelWorld, modelWorld } from "./test-world.ts";

async function listed(world: CliWorld): Promise<{ sessionId: string; summary?: string }[]> {
  return JSON.parse((await world.run(["sessions", "list", "--json"])).stdout);
}

/** Two sessions, the second with a sub-agent. */
async function twoSessions(): Promise<ModelWorld> {
  const world = await modelWorld(({ prompt, results }) => {
    if (prompt.includes("CHILD")) return results.length === 0 ? call("glob", { pattern: "*" }) : say("seen");
    if (prompt.includes("delegate") && results.length === 0) {
      return call("task", { name: "looker", agent_type: "explore", description: "Looks around", prompt: "CHILD" });
    }
    return say(`answer to ${prompt.split("\n").at(-1)}`);
  });
  await world.run(["-p", "a plain question", "--quiet"]);
  await world.run(["-p", "delegate this", "--quiet"]);
  return world;
}

describe("retinue sessions", () => {
  test("lists what there is, last used first, in a table or as JSON", async () => {
    await using world = await twoSessions();
    const sessions = await listed(world);
    expect(sessions.map(({ summary }) => summary)).toEqual(["delegate this", "a plain question"]);
    const { stdout, code } = await world.run(["sessions", "list"]);
    const [head, first] = stdout.split("\n");
    expect(head).toMatch(/^ID +AGE +FOLDER +TITLE$/);
    expect(first).toContain(sessions[0]?.sessionId.slice(0, 8));
    expect(first).toContain(world.folder);
    expect(code).toBe(0);
    expect((await world.run(["sessions", "list", "--limit", "1"])).stderr).toContain("1 more");
  });

  test("says what to do when there is none", async () => {
    await using world = cliWorld();
    expect(await world.run(["sessions", "list"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("no sessions yet"),
    });
  });

  test("shows a conversation for people, and its events as JSON", async () => {
    await using world = await twoSessions();
    const [last] = await listed(world);
    const { stdout } = await world.run(["sessions", "show", last?.sessionId.slice(0, 8) ?? ""]);
    const told = [
      "delegate this",
      "> delegate this",
      "· task looker",
      "▸ looker (explore) starts: Looks around",
      "✓ looker is done",
      "answer to delegate this",
    ];
    expect(told.map((words) => stdout.indexOf(words)).every((at, index, all) => at >= (all[index - 1] ?? 0))).toBe(
      true,
    );
    const events = (await world.run(["sessions", "show", last?.sessionId ?? "", "--json"])).stdout
      .trimEnd()
      .split("\n");
    expect(events.map((line) => JSON.parse(line).type).at(0)).toBe("session.start");
  });

  test("draws the stored tree with times and the usage of each agent, and the totals in the last line", async () => {
    await using world = await twoSessions();
    const [last] = await listed(world);
    const { stdout } = await world.run(["sessions", "tree", last?.sessionId ?? ""]);
    expect(stdout).toMatch(
      /^○ main {2}idle · \d+\.\ds · 2 turns · 1 call · 200 in, 20 out\n└─ ✓ looker \(explore\) {2}completed · \d+\.\ds · 2 turns · 1 call · 200 in, 20 out\n· 4 turns · 2 calls · 1 sub-agent · 400 tokens in, 40 out\n$/,
    );
    const nodes = JSON.parse((await world.run(["sessions", "tree", last?.sessionId ?? "", "--json"])).stdout);
    expect(nodes).toMatchObject([{ id: "main" }, { name: "explore", status: "completed" }]);
  });

  test("deletes several by the beginning of their ids, and only with a yes", async () => {
    await using world = await twoSessions();
    const ids = (await listed(world)).map(({ sessionId }) => sessionId);
    const prefixes = ids.map((id) => id.slice(0, 8));
    expect(await world.run(["sessions", "delete", ...prefixes])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--yes"),
    });
    expect(await listed(world)).toHaveLength(2);
    const { code, stdout } = await world.run(["sessions", "delete", ...prefixes, "--yes"]);
    expect(stdout).toBe(ids.map((id) => `deleted ${id}\n`).join(""));
    expect(code).toBe(0);
    expect(await listed(world)).toEqual([]);
  });

  test("deletes nothing when one of the ids is unknown", async () => {
    await using world = await twoSessions();
    const [last] = await listed(world);
    const { code, stderr } = await world.run(["sessions", "delete", last?.sessionId ?? "", "nope", "--yes"]);
    expect(stderr).toContain("There is no session nope");
    expect(code).toBe(1);
    expect(await listed(world)).toHaveLength(2);
  });
});
