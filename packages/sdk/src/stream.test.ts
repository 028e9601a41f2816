import { describe, expect, test } from "vitest";
import { RetinueClient } from "./client.ts";
import type { StreamOptions, StreamPart } from "./stream.ts";
import { FakeRuntime, type FakeTurn } from "./testing/index.ts";

async function world(turn: (runtime: FakeRuntime, prompt: string) => void = (runtime) => runtime.say("s", "done")) {
  const runtime: FakeRuntime = new FakeRuntime({
    turn: ({ prompt }: Parameters<FakeTurn>[0]) => turn(runtime, prompt),
  });
  const client = new RetinueClient({ connection: runtime.connection() });
  const session = await client.createSession({ sessionId: "s" });
  const aborts = () => runtime.received.filter(({ method }) => method === "session.abort").length;
  return { runtime, client, session, aborts, [Symbol.asyncDispose]: async () => void (await client.stop()) };
}
type App = Awaited<ReturnType<typeof world>>;

async function partsOf(app: App, prompt = "go", options: StreamOptions = {}): Promise<StreamPart[]> {
  const parts: StreamPart[] = [];
  for await (const part of app.session.stream(prompt, options)) parts.push(part);
  return parts;
}

const brief = (part: StreamPart) =>
  [part.type, "text" in part ? part.text : "toolName" in part ? part.toolName : part.name].join(" ");

test("text, calls and sub-agents come in order, and the end has the last message", async () => {
  await using app = await world((runtime) => {
    const delta = (text: string, agentId?: string) =>
      runtime.emit(
        "s",
        "assistant.message_delta",
        { messageId: "m", deltaContent: text },
        { ...(agentId && { agentId }) },
      );
    runtime.emit("s", "assistant.reasoning_delta", { reasoningId: "r", deltaContent: "hm" });
    delta("one ");
    delta("two");
    runtime.emit("s", "assistant.message", { content: "one two", messageId: "m" });
    runtime.emit("s", "tool.execution_start", { toolCallId: "t", toolName: "task", arguments: { a: 1 } });
    const child = runtime.startSubagent("s", { agentName: "reader", childSessionId: "a" });
    delta("not for you", "a");
    runtime.emit("s", "tool.execution_start", { toolCallId: "v", toolName: "view", arguments: {} }, { agentId: "a" });
    runtime.emit(
      "s",
      "tool.execution_complete",
      { toolCallId: "v", success: false, error: { message: "denied" } },
      { agentId: "a" },
    );
    runtime.endSubagent(child, "broke");
    runtime.emit("s", "tool.execution_complete", { toolCallId: "t", success: true, result: { content: "read" } });
    runtime.say("s", "done");
  });
  const parts = await partsOf(app);
  expect(parts.map(brief)).toEqual([
    "reasoning hm",
    "text one ",
    "text two",
    "tool-start task",
    "agent-start reader",
    "tool-start view",
    "tool-end view",
    "agent-end reader",
    "tool-end task",
    "text done",
    "end done",
  ]);
  expect(parts).toMatchObject({
    3: { arguments: { a: 1 }, agentId: undefined },
    6: { success: false, error: "denied", agentId: "a" },
    7: { status: "failed", error: "broke" },
    8: { success: true, result: "read" },
    10: { message: { type: "assistant.message" } },
  });
  expect(app.aborts()).toBe(0);
});

test("nothing is sent before the loop begins", async () => {
  await using app = await world();
  const stream = app.session.stream("go");
  await app.client.ping();
  expect(app.runtime.lastCall("session.send")).toBeUndefined();
  await stream.next();
  expect(app.runtime.lastCall("session.send")).toMatchObject({ prompt: "go" });
});

test("what an earlier prompt still does is no part of the stream", async () => {
  await using app = await world((runtime, prompt) => {
    if (prompt === "first") return;
    runtime.say("s", "second answer");
  });
  await app.session.send("first");
  await app.client.ping();
  app.runtime.handle("session.send", () => {
    app.runtime.say("s", "first answer");
    app.runtime.emit("s", "user.message", { content: "second" });
    app.runtime.say("s", "second answer");
    return { messageId: "2" };
  });
  expect((await partsOf(app, "second")).map(brief)).toEqual(["text second answer", "end second answer"]);
});

test("an error of the main agent, and of the send, rejects the loop and aborts nothing", async () => {
  await using app = await world((runtime) => {
    runtime.emit("s", "session.error", { errorType: "query", message: "no model" });
  });
  await expect(partsOf(app)).rejects.toMatchObject({ code: "turn_failed", message: "no model" });
  app.runtime.handle("session.send", () => {
    throw new Error("queue is full");
  });
  await expect(partsOf(app)).rejects.toThrow("queue is full");
  expect(app.aborts()).toBe(0);
});

describe("leaving the loop early", () => {
  const talking = (runtime: FakeRuntime) => {
    runtime.emit("s", "assistant.message_delta", { messageId: "m", deltaContent: "endless" });
  };
  async function leave(app: App, options?: StreamOptions): Promise<void> {
    for await (const part of app.session.stream("go", options)) if (part.type === "text") break;
  }

  test("aborts the work, and nothing listens any more", async () => {
    await using app = await world(talking);
    await leave(app);
    expect(app.aborts()).toBe(1);
    app.runtime.say("s", "late");
    await expect(app.session.getEvents()).resolves.toHaveLength(2);
  });

  test("by an error of the loop's own body aborts too", async () => {
    await using app = await world(talking);
    const failing = (async () => {
      for await (const _ of app.session.stream("go")) throw new Error("mine");
    })();
    await expect(failing).rejects.toThrow("mine");
    expect(app.aborts()).toBe(1);
  });

  test("leaves the work running where that is wanted", async () => {
    await using app = await world(talking);
    await leave(app, { keepRunning: true });
    expect(app.aborts()).toBe(0);
  });

  test("at a limit of time or a signal rejects with it, and aborts", async () => {
    await using app = await world(talking);
    await expect(partsOf(app, "go", { timeoutMs: 5 })).rejects.toMatchObject({ code: "timed_out" });
    await expect(partsOf(app, "go", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
    expect(app.aborts()).toBe(2);
  });

  test("because the connection is gone rejects with that, and asks nothing of anybody", async () => {
    await using app = await world(talking);
    const failing = (async () => {
      for await (const _ of app.session.stream("go")) app.runtime.crash();
    })();
    await expect(failing).rejects.toMatchObject({ code: "connection_closed" });
    expect(app.aborts()).toBe(0);
  });
});
