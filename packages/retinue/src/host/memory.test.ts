import { expect, test } from "vitest";
import { INHERIT_HEADING } from "../continuity/recall/inherit.ts";
import type { ModelRequest } from "../models/provider.ts";
import { call, say, when } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import type { SqliteStore } from "../store/sqlite/store.ts";

const task = (prompt: string, inherit?: string) =>
  call("task", { agent_type: "explore", name: "look", description: "d", prompt, ...(inherit ? { inherit } : {}) });

/** The first prompt that the child's model read. */
function firstPromptOf(requests: readonly ModelRequest[], prompt: string): string {
  const isChild = ({ messages: [first] }: ModelRequest) => JSON.stringify(first).includes(prompt);
  const request = requests.find((each) => isChild(each) && each.messages.length === 1);
  const content = request?.messages[0]?.role === "user" ? request.messages[0].content : undefined;
  return typeof content === "string" ? content : "";
}

/** A parent with two turns behind it starts a child that inherits this much. */
async function inherited(inherit: string | undefined): Promise<string> {
  let prompt = "";
  const turns = [
    [say(`An old remark. ${"filler ".repeat(900)}`)],
    [say("The lock file is written by the daemon.")],
    [task("go and look", inherit)],
    when((request) => request.messages.length === 1, [say("seen")]),
    [say("done")],
  ];
  await inSmallWorld(turns, async ({ create, send, provider }) => {
    const sessionId = await create();
    for (const text of ["first question", "who writes it?", "delegate"]) await send(sessionId, text);
    prompt = firstPromptOf(provider.requests, "go and look");
  });
  expect(prompt).toContain("go and look");
  return prompt;
}

test("a child that inherits nothing reads only its prompt", async () => {
  expect(await inherited("none")).not.toContain(INHERIT_HEADING);
});

test.each([undefined, "brief"])("a child that inherits %s reads the end of the conversation", async (inherit) => {
  const prompt = await inherited(inherit);
  expect(prompt).toContain(INHERIT_HEADING);
  expect(prompt).toContain("The lock file is written by the daemon.");
  expect(prompt).not.toContain("An old remark.");
  expect(prompt.indexOf(INHERIT_HEADING)).toBeLessThan(prompt.indexOf("go and look"));
});

test("a child that inherits a tail reads that many characters, and no more", async () => {
  const short = await inherited("tail(200)");
  expect(short).toContain("delegate");
  expect(short).not.toContain("filler");
  expect(await inherited("tail(20000)")).toContain("An old remark.");
});

test("a forked child reads everything", async () => {
  const prompt = await inherited("fork");
  for (const said of ["first question", "An old remark.", "written by the daemon", "delegate"])
    expect(prompt).toContain(said);
});

test("a child finds by search what its running parent said in the turn before", async () => {
  const turns = [
    [say("The name of the printer is swordfish."), task("find the printer's word", "none")],
    when("find the printer's word", [call("session_search", { query: "swordfish" })]),
    when("find the printer's word", [say("found")]),
    [say("done")],
  ];
  await inSmallWorld(turns, async ({ client, create, send }) => {
    await send(await create(), "remember this");
    const results = client.of("tool.execution_complete").map(({ result }) => result?.content ?? "");
    expect(results[0]).toContain("The name of the printer is swordfish.");
  });
});

test("a session finds what it said itself, a turn ago", async () => {
  const turns = [
    [say("Blue is the colour of the door.")],
    [call("session_search", { query: "door colour" })],
    [say("so")],
  ];
  await inSmallWorld(turns, async ({ client, create, send }) => {
    const sessionId = await create();
    await send(sessionId, "tell me");
    await send(sessionId, "what was it?");
    expect(client.of("tool.execution_complete")[0]?.result?.content).toContain("Blue is the colour");
  });
});

test("deleting a session deletes its transcript and those of its sub-agents, and no other", async () => {
  const turns = [[task("go and look", "none")], [say("seen by the child")], [say("done")], [say("another")]];
  await inSmallWorld(turns, async (world) => {
    const { client, create, send } = world;
    const sessionId = await create();
    await send(sessionId, "delegate");
    await send(await create(), "stay");
    expect(transcript(world).join("\n")).toMatch(/seen by the child[\s\S]*another/);
    await client.call("session.delete", { sessionId });
    expect(transcript(world).filter((text) => !/stay|another/.test(text))).toEqual([]);
    expect(transcript(world).join("\n")).toContain("another");
  });
});

/** Every turn that is kept. */
function transcript({ runtime }: SmallWorld): string[] {
  const { db } = runtime.sessions.store as SqliteStore;
  return db
    .prepare("SELECT text FROM transcript_turns ORDER BY rowid")
    .all()
    .map((row) => String((row as { text: unknown }).text));
}
