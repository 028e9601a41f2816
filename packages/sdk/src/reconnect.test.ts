import { createServer, type Server, type Socket } from "node:net";
import { AppError, streamTransport, type Transport } from "@retinue/protocol";
import { expect, test } from "vitest";
import { RetinueClient } from "./client.ts";
import { RuntimeConnection } from "./connection.ts";
import type { SessionConfig } from "./session-config.ts";
import { FakeRuntime } from "./testing/index.ts";
import { defineTool } from "./tools.ts";

async function world(config: SessionConfig = {}) {
  const runtime = new FakeRuntime({ turn: () => undefined });
  const options = {
    connection: runtime.connection(),
    reconnect: { attempts: 3, delayMs: 1 },
    onError: () => undefined,
  };
  const client = new RetinueClient(options);
  const session = await client.createSession({ sessionId: "s", ...config });
  const seen: string[] = [];
  session.on("assistant.message", ({ data }) => seen.push(data.content));
  const say = (content: string) => runtime.emit("s", "assistant.message", { content, messageId: "m" });
  /** Resolves when the client has come back and caught up. */
  const back = async () => {
    const greetings = () => runtime.received.filter(({ method }) => method === "connect").length;
    await expect.poll(greetings).toBe(2);
    await client.ping();
  };
  return { runtime, client, session, seen, say, back, [Symbol.asyncDispose]: async () => void (await client.stop()) };
}

test("events of the gap are delivered once each and in order, however many there are", async () => {
  await using app = await world();
  const all = Array.from({ length: 450 }, (_, index) => String(index));
  for (const content of all.slice(0, 100)) app.say(content);
  await app.client.ping();
  app.runtime.drop();
  for (const content of all.slice(100, 420)) app.say(content);
  await expect.poll(() => app.seen.length).toBeGreaterThan(400);
  for (const content of all.slice(420)) app.say(content);
  await app.client.ping();
  expect(app.seen).toEqual(all);
  expect(app.client.state).toBe("connected");
});

test("events that come while the missed ones are read are delivered after them, and once", async () => {
  await using app = await world();
  app.say("before");
  await app.client.ping();
  app.runtime.handle("session.resume", ({ sessionId }) => {
    app.say("between"); // Stored and broadcast: it is both missed and live.
    return { sessionId };
  });
  app.runtime.drop();
  app.say("missed");
  await app.back();
  app.say("after");
  await app.client.ping();
  expect(app.seen).toEqual(["before", "missed", "between", "after"]);
});

test("the session is joined with its own options, without a resume event, and goes on where it stood", async () => {
  await using app = await world({ model: "m", tools: [defineTool("t", { handler: () => "ok" })] });
  app.runtime.drop();
  await app.back();
  expect(app.runtime.lastCall("session.resume")).toMatchObject({
    sessionId: "s",
    model: "m",
    tools: [{ name: "t" }],
    disableResume: true,
    continuePendingWork: true,
  });
  expect(await app.runtime.callTool("s", { toolName: "t" })).toEqual({ result: "ok" });
});

test("a tool request of the gap is answered afterwards, unless it was settled meanwhile", async () => {
  const ran: unknown[] = [];
  await using app = await world({ tools: [defineTool("t", { handler: (args) => void ran.push(args) })] });
  app.runtime.drop();
  const request = { sessionId: "s", toolName: "t", toolCallId: "c" };
  app.runtime.emit("s", "external_tool.requested", { ...request, requestId: "settled", arguments: "settled" });
  app.runtime.emit("s", "external_tool.completed", { requestId: "settled" });
  const open = app.runtime.callTool("s", { toolName: "t", arguments: "open" });
  expect(await open).toEqual({ result: "" });
  expect(ran).toEqual(["open"]);
});

test("an answer that the loss cut off is sent again", async () => {
  await using app = await world({ tools: [defineTool("t", { handler: () => "late" })] });
  let losses = 0;
  app.runtime.handle("session.tools.handlePendingToolCall", () => {
    losses += 1;
    if (losses === 1) app.runtime.drop();
    return { success: true };
  });
  app.runtime.emit("s", "external_tool.requested", { requestId: "r", sessionId: "s", toolName: "t", toolCallId: "c" });
  await expect.poll(() => losses).toBe(2);
});

test("a wait survives the gap, also when the session became idle in it", async () => {
  await using app = await world();
  app.runtime.handle("session.metadata.activity", () => ({ hasActiveWork: false, abortable: false }));
  const waiting = app.session.sendAndWait("x");
  await app.client.ping();
  app.runtime.drop();
  app.say("said in the gap");
  app.runtime.emit("s", "session.idle", {});
  expect((await waiting)?.data.content).toBe("said in the gap");
});

test("child sessions stay known over the gap, and those that started in it become known", async () => {
  await using app = await world();
  app.runtime.startSubagent("s", { agentName: "a", childSessionId: "old" });
  await app.client.ping();
  app.runtime.drop();
  app.runtime.startSubagent("s", { agentName: "b", childSessionId: "new" });
  await app.back();
  expect([...app.client.childToParent]).toEqual([
    ["old", "s"],
    ["new", "s"],
  ]);
});

test("a client that joined late does not hear the old log as news after a gap", async () => {
  await using app = await world();
  for (const content of ["1", "2", "3"]) app.say(content);
  const late = await app.client.resumeSession("s");
  const seen: string[] = [];
  late.on("assistant.message", ({ data }) => seen.push(data.content));
  app.runtime.drop();
  app.say("4");
  await app.back();
  expect(seen).toEqual(["4"]);
});

test("a runtime without pages of events is read whole", async () => {
  await using app = await world();
  app.runtime.handle("session.eventLog.read", () => {
    throw new AppError("method_not_found", "Unhandled method session.eventLog.read");
  });
  app.say("1");
  await app.client.ping();
  app.runtime.drop();
  app.say("2");
  await app.back();
  expect(app.seen).toEqual(["1", "2"]);
});

test("when the runtime does not come back, waits end with the loss and stop works", async () => {
  await using app = await world();
  const waiting = app.session.sendAndWait("x");
  await app.client.ping();
  app.runtime.crash();
  await expect(waiting).rejects.toMatchObject({ code: "connection_closed" });
  expect(app.client.state).toBe("disconnected");
  expect(await app.client.stop()).toEqual([]);
});

test("stop in the middle of coming back ends at once", async () => {
  const runtime = new FakeRuntime();
  const client = new RetinueClient({ connection: runtime.connection(), reconnect: { attempts: 50, delayMs: 60_000 } });
  await client.createSession();
  runtime.crash();
  await expect.poll(() => client.state).toBe("reconnecting");
  await client.stop();
  expect(client.state).toBe("disconnected");
});

test("a real socket that is cut comes back by itself", async () => {
  const runtime = new FakeRuntime({ turn: () => undefined });
  const sockets = new Set<Socket>();
  const server = await listen((socket) => {
    sockets.add(socket);
    void bridge(runtime, streamTransport(socket, socket));
  });
  const address = server.address();
  if (!address || typeof address === "string") throw new Error("no port");
  await using client = new RetinueClient({ connection: RuntimeConnection.forUri(`127.0.0.1:${address.port}`) });
  const session = await client.createSession({ sessionId: "s" });
  const seen: string[] = [];
  session.on("assistant.message", ({ data }) => seen.push(data.content));
  const say = (content: string) => runtime.emit("s", "assistant.message", { content, messageId: "m" });
  say("1");
  await client.ping();
  for (const socket of sockets) socket.destroy();
  say("2");
  await expect.poll(() => seen).toEqual(["1", "2"]);
  say("3");
  await expect.poll(() => seen).toEqual(["1", "2", "3"]);
  await client.stop();
  server.close();
});

async function listen(onSocket: (socket: Socket) => void): Promise<Server> {
  const server = createServer(onSocket);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** Passes every text between a socket and a fake runtime in memory. */
async function bridge(runtime: FakeRuntime, outside: Transport): Promise<void> {
  const inside = await runtime.connection().open();
  inside.start({ text: (text) => outside.send(text), bad: () => undefined, closed: () => outside.close() });
  outside.start({ text: (text) => inside.send(text), bad: () => undefined, closed: () => inside.close() });
}
