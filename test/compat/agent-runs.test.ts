/** The runs of a sub-agent as a client of the official SDK sees them: one start, one answer and one end for each message. */
import type { SessionEvent } from "@github/copilot-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, calls, say } from "../support/model-answers.ts";
import type { ModelRequest } from "../support/model-server.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk, resumeTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const task = (mode: "sync") =>
  calls([
    {
      name: "task",
      args: { name: "helper", agent_type: "general-purpose", description: "Help", prompt: "CHILD do it", mode },
      id: "task-1",
    },
  ]);
const isChild = (request: ModelRequest) => request.texts("user")[0]?.includes("CHILD") ?? false;
const failing = { kind: "status" as const, status: 400, headers: {}, body: '{"error":{"message":"child broke"}}' };

function lifeOf(events: readonly SessionEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.type === "subagent.completed") return [event.data.cancelled ? "cancelled" : "completed"];
    return event.type === "subagent.started" || event.type === "subagent.failed" ? [event.type.slice(9)] : [];
  });
}

function gate(): { open(): void; opened: Promise<void> } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

test.runIf(ours)("a message to a sub-agent at work does not replace the answer that the call waits for", async () => {
  await using talk = await openTalk(world);
  const door = gate();
  talk.model.reply(async (request) => {
    if (!isChild(request)) return request.texts("tool").length === 0 ? task("sync") : say("thanks");
    if (request.texts("user").length > 1) return say("the second answer");
    await door.opened;
    return say("the first answer");
  });
  await talk.session.send({ prompt: "delegate" });
  const { agentId = "" } = await talk.record.until("subagent.started");
  await talk.model.asked(2);
  expect(await talk.session.rpc.tasks.sendMessage({ id: agentId, message: "and more" })).toMatchObject({ sent: true });
  door.open();
  await talk.record.until("session.idle");
  const results = talk.record.all("tool.execution_complete").map(({ data }) => data.result?.content);
  expect(results).toEqual(["the first answer"]);
  expect(lifeOf(talk.record.events)).toEqual(["started", "completed", "started", "completed"]);
});

test.runIf(ours)("a follow-up that fails is told as a failure, and one that is cancelled as cancelled", async () => {
  await using talk = await openTalk(world);
  const door = gate();
  talk.model.reply(async (request) => {
    if (!isChild(request)) return say("noted");
    const text = request.lastText;
    if (text.includes("break")) return failing;
    if (text.includes("wait")) await door.opened;
    return say("the answer");
  });
  const { tasks } = talk.session.rpc;
  const start = async () =>
    (await tasks.startAgent({ agentType: "general-purpose", prompt: "CHILD do it", name: "helper" })).agentId;
  const isIdle = (id: string) => async () => (await tasks.list()).tasks.find((each) => each.id === id)?.status;
  const [broken, stopped] = [await start(), await start()];
  await expect.poll(isIdle(broken)).toBe("idle");
  await expect.poll(isIdle(stopped)).toBe("idle");
  await tasks.sendMessage({ id: broken, message: "break" });
  await expect.poll(isIdle(broken)).toBe("failed");
  await tasks.sendMessage({ id: stopped, message: "wait" });
  await expect.poll(() => talk.model.requests.some(({ lastText }) => lastText.includes("wait"))).toBe(true);
  expect(await tasks.cancel({ id: stopped })).toEqual({ cancelled: true });
  door.open();
  const of = (id: string) => lifeOf(talk.record.events.filter(({ agentId }) => agentId === id));
  expect(of(broken)).toEqual(["started", "completed", "started", "failed"]);
  expect(of(stopped)).toEqual(["started", "completed", "started", "cancelled"]);
});

test.runIf(ours)("a fork of a session whose sub-agent is at work has an end for its start", async () => {
  await using talk = await openTalk(world);
  const door = gate();
  talk.model.reply(async (request) => {
    if (!isChild(request)) return request.texts("tool").length === 0 ? task("sync") : say("thanks");
    await door.opened;
    return call("view", { path: "." });
  });
  await talk.session.send({ prompt: "delegate" });
  await talk.model.asked(2);
  const { sessionId } = await world.client.rpc.sessions.fork({ sessionId: talk.session.sessionId });
  await using fork = await resumeTalk(world, sessionId);
  const events = await fork.session.getEvents();
  expect(lifeOf(events)).toEqual(["started", "cancelled"]);
  const ended = events.filter(({ type }) => type === "tool.execution_complete");
  expect(ended).toHaveLength(events.filter(({ type }) => type === "tool.execution_start").length);
  await talk.session.abort();
  door.open();
});

/** Ours; the SDK passes on types that it does not know. */
function boundariesIn(events: readonly { type: string; data: object; agentId?: string }[]) {
  return events
    .filter(({ type }) => type === "subagent_session_boundary")
    .map(({ data }) => data as { phase: string; run: number; parentId: string; error?: string });
}

test.runIf(ours)("every run has a boundary at either side, with its number and the agent above", async () => {
  await using talk = await openTalk(world);
  talk.model.reply((request) => {
    if (!isChild(request)) return request.texts("tool").length === 0 ? task("sync") : say("thanks");
    return request.lastText.includes("break") ? failing : say("an answer");
  });
  await talk.ask("delegate");
  const { agentId = "" } = talk.record.one("subagent.started");
  await talk.session.rpc.tasks.sendMessage({ id: agentId, message: "break" });
  await talk.record.until("subagent.failed");
  const found = boundariesIn(talk.record.events);
  expect(found.map(({ phase, run }) => `${phase} ${run}`)).toEqual(["start 1", "end 1", "start 2", "failure 2"]);
  expect(found.every(({ parentId }) => parentId === talk.session.sessionId)).toBe(true);
  expect(found.at(-1)?.error).toContain("child broke");
});

test.runIf(ours).each([
  [true, "end 1"],
  [false, "failure 1"],
])(
  "a run that was killed has one boundary at either side in the end; pending work goes on: %s",
  async (continuePendingWork, end) => {
    const first = await startClient();
    const talk = await openTalk(first);
    talk.model.reply((request) => (isChild(request) ? { kind: "hang" } : task("sync")));
    await talk.session.send({ prompt: "delegate" });
    await talk.model.asked(2);
    await first.kill();
    await using second = await startClient({ folders: first.folders });
    const model = second.model.endpoint();
    model.reply((request) => say(isChild(request) ? "at last" : "done"));
    await using again = await resumeTalk(second, talk.session.sessionId, { continuePendingWork }, model);
    if (continuePendingWork) await again.record.until("session.idle");
    else await again.ask("what came of it?");
    const found = boundariesIn(await again.session.getEvents());
    expect(found.map(({ phase, run }) => `${phase} ${run}`)).toEqual(["start 1", end]);
    await first[Symbol.asyncDispose]();
  },
);

test.runIf(ours)(
  "a sub-agent with a schema is corrected until its answer fits, and the data is in its end",
  async () => {
    await using talk = await openTalk(world);
    const schema = { type: "object", properties: { lines: { type: "integer" } }, required: ["lines"] };
    const args = { name: "count", agent_type: "general-purpose", description: "Count", prompt: "CHILD count", schema };
    talk.model.reply((request) => {
      if (isChild(request)) return say(request.texts("user").length > 1 ? '{"lines":7}' : "seven lines");
      return request.texts("tool").length === 0 ? calls([{ name: "task", args, id: "task-1" }]) : say("thanks");
    });
    await talk.session.sendAndWait({ prompt: "delegate" });
    const [result] = talk.record.all("tool.execution_complete").map(({ data }) => data.result?.content);
    expect(result).toBe('{"lines":7}');
    expect(talk.record.all("subagent.completed").map(({ data }) => data)).toMatchObject([
      { typedResult: { lines: 7 } },
    ]);
    const { tasks } = await talk.session.rpc.tasks.list();
    expect(tasks).toMatchObject([
      { result: '{"lines":7}', typedResult: { lines: 7 }, ownerId: talk.session.sessionId },
    ]);
  },
);
