/** The tree of a session that is joined after it has begun: by a resume, or beside another client. */
import { describe, expect, test } from "vitest";
import { openAsks, walk } from "./agent-node.ts";
import { RetinueClient } from "./client.ts";
import type { Session } from "./session.ts";
import { FakeRuntime } from "./testing/index.ts";

async function world(protocol: 2 | 3 = 3) {
  const runtime = new FakeRuntime({ protocol, turn: () => undefined });
  const errors: unknown[] = [];
  const client = new RetinueClient({ connection: runtime.connection(), onError: (error) => errors.push(error) });
  await client.start();
  return { runtime, client, errors, [Symbol.asyncDispose]: async () => void (await client.stop()) };
}

const used = (inputTokens: number) => ({
  inputTokens,
  outputTokens: 1,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
});

/** A prompt whose agent "a" has answered, with an "assistant.usage" that only those see who listen. */
function work(runtime: FakeRuntime, usage = used(10)) {
  runtime.emit("s", "user.message", { content: "go" });
  runtime.emit("s", "assistant.turn_start", { turnId: "1" });
  const child = runtime.startSubagent("s", { agentName: "reader", childSessionId: "a" });
  runtime.emit("s", "tool.execution_start", { toolCallId: "t", toolName: "view", arguments: {} }, { agentId: "a" });
  runtime.emit("s", "tool.execution_complete", { toolCallId: "t", success: true }, { agentId: "a" });
  runtime.endSubagent(child);
  runtime.emit("s", "assistant.usage", { model: "m", ...usage });
  runtime.emit("s", "assistant.message", { content: "done", messageId: "1", usage });
}

const shape = (session: Session) =>
  walk(session.tree()).map(
    ({ name, status, usage }) => `${name} ${status} ${usage.turns} ${usage.calls} ${usage.inputTokens}`,
  );

describe.each([2, 3] as const)("protocol %i", (protocol) => {
  test("a session that is resumed has the tree of its log at once: names, counts, ends", async () => {
    await using app = await world(protocol);
    work(app.runtime);
    app.runtime.emit("s", "session.idle", {});
    const session = await app.client.resumeSession("s");
    expect(shape(session)).toEqual(["main idle 1 0 10", "reader completed 0 1 0"]);
    expect(app.errors).toEqual([]);
  });
});

test("who was at work when its process ended is interrupted, and nothing is asked any more", async () => {
  await using app = await world();
  app.runtime.emit("s", "user.message", { content: "go" });
  app.runtime.startSubagent("s", { agentName: "reader", childSessionId: "a" });
  app.runtime.emit("s", "permission.requested", { requestId: "r", permissionRequest: { kind: "shell" } as never });
  app.runtime.handle("session.metadata.activity", () => ({ abortable: false, hasActiveWork: false }));
  const session = await app.client.resumeSession("s");
  expect(shape(session)).toEqual(["main idle 0 0 0", "reader interrupted 0 0 0"]);
  expect(openAsks(session.tree())).toEqual([]);
});

test("who is at work when a client joins runs, and its end is seen", async () => {
  await using app = await world();
  app.runtime.emit("s", "user.message", { content: "go" });
  const child = app.runtime.startSubagent("s", { agentName: "reader", childSessionId: "a" });
  app.runtime.handle("session.metadata.activity", () => ({ abortable: true, hasActiveWork: true }));
  const session = await app.client.resumeSession("s");
  expect(shape(session)).toEqual(["main running 0 0 0", "reader running 0 0 0"]);
  app.runtime.endSubagent(child);
  app.runtime.emit("s", "session.idle", {});
  await session.getEvents();
  expect(shape(session)).toEqual(["main idle 0 0 0", "reader completed 0 0 0"]);
});

test("events that come while the log is read count once, and the program hears them", async () => {
  await using app = await world();
  app.runtime.emit("s", "user.message", { content: "before" });
  app.runtime.handle("session.eventLog.read", (params) => {
    work(app.runtime); // In the answer, and on the wire before it.
    const page = app.runtime.session("s").page(params);
    work(app.runtime, used(100)); // On the wire only.
    return page;
  });
  app.runtime.handle("session.metadata.activity", () => ({ abortable: true, hasActiveWork: true }));
  const session = await app.client.resumeSession("s");
  const heard: string[] = [];
  session.on("assistant.message", ({ data }) => heard.push(data.content));
  app.runtime.emit("s", "session.idle", {});
  await session.getEvents();
  expect(heard).toEqual(["done", "done"]);
  expect(shape(session)).toEqual(["main idle 2 0 110", "reader completed 0 2 0"]);
});

test("loadTree while a session works loses nothing and counts nothing twice", async () => {
  await using app = await world();
  const session = await app.client.createSession({ sessionId: "s" });
  work(app.runtime);
  app.runtime.handle("session.eventLog.read", (params) => {
    const page = app.runtime.session("s").page(params);
    work(app.runtime);
    return page;
  });
  app.runtime.handle("session.metadata.activity", () => ({ abortable: true, hasActiveWork: true }));
  await session.loadTree();
  expect(shape(session)).toEqual(["main running 2 0 20", "reader completed 0 2 0"]);
});

test("a log that cannot be read does not keep a session from being resumed, and is reported", async () => {
  await using app = await world();
  app.runtime.handle("session.eventLog.read", () => {
    throw new Error("the page is damaged");
  });
  const session = await app.client.resumeSession("s");
  expect(app.errors).toMatchObject([{ message: expect.stringContaining("the page is damaged") }]);
  work(app.runtime);
  await session.getEvents();
  expect(shape(session)).toEqual(["main running 1 0 10", "reader completed 0 1 0"]);
});

test("a prompt that is sent right after joining a busy session waits for its own answer", async () => {
  await using app = await world();
  app.runtime.emit("s", "user.message", { content: "before" });
  app.runtime.handle("session.metadata.activity", () => ({ abortable: true, hasActiveWork: true }));
  const session = await app.client.resumeSession("s");
  const answer = session.sendAndWait("mine");
  app.runtime.say("s", "the answer to the other prompt");
  await session.getEvents();
  app.runtime.emit("s", "user.message", { content: "mine" });
  app.runtime.say("s", "my answer");
  expect((await answer)?.data.content).toBe("my answer");
});
