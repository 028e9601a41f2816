/** How clients connect and leave: the handshake, tokens, transports, several clients at once, shutdown. */
import { once } from "node:events";
import { CopilotClient, RuntimeConnection } from "@github/copilot-sdk";
import { expect, test } from "vitest";
import { say } from "../support/model-answers.ts";
import { startModelServer } from "../support/model-server.ts";
import { byok, ours, startClient } from "../support/runtime.ts";
import { EventRecord, openTalk, resumeTalk } from "../support/talk.ts";
import { spawnStdio, spawnTcp } from "../support/wire.ts";

const TOKEN = "a-shared-secret";

test("a client over stdio gets a pong that repeats its message", async () => {
  await using world = await startClient();
  const pong = await world.client.ping("hello");
  expect(pong).toMatchObject({ message: "pong: hello" });
  expect(Date.parse(String(pong.timestamp))).toBeGreaterThan(0);
  expect(await world.client.getStatus()).toMatchObject({ protocolVersion: 3, version: expect.any(String) });
  expect(await world.client.getAuthStatus()).toMatchObject({ isAuthenticated: expect.any(Boolean) });
});

test("a client over TCP runs a turn", async () => {
  await using world = await startClient({ transport: "tcp" });
  await using talk = await openTalk(world);
  talk.model.script(say("over tcp"));
  expect(await talk.ask("hi")).toBe("over tcp");
});

test("connect answers with protocol 3 and the task kinds both sides know", async () => {
  await using runtime = await spawnStdio();
  const { wire } = runtime;
  const plain = await wire.request("connect", {});
  expect(plain).toMatchObject({ ok: true, protocolVersion: 3, version: expect.any(String) });
  expect(plain.taskKinds).toEqual(expect.arrayContaining(["agent", "shell"]));
  expect(plain.taskKinds).not.toContain("client");
  const again = await wire.request("connect", { supportedTaskKinds: ["agent", "client", "shell"] });
  expect([...again.taskKinds].sort()).toEqual(["agent", "client", "shell"]);
});

test("a token sent to a server that has none is refused, and the connection lives on", async () => {
  await using runtime = await spawnStdio();
  const { error } = await runtime.wire.answer("connect", { token: "zzz" });
  expect(error).toMatchObject({ code: -32003, message: "AUTHENTICATION_NOT_CONFIGURED" });
  expect(await runtime.wire.request("connect", {})).toMatchObject({ ok: true });
});

test("a server with a token answers nothing before a good connect", async () => {
  await using runtime = await spawnTcp({ env: { COPILOT_CONNECTION_TOKEN: TOKEN } });
  const wire = await runtime.open();
  for (const method of ["ping", "session.list", "status.get"]) {
    expect((await wire.answer(method, {})).error).toMatchObject({ code: -32001, message: "AUTHENTICATION_REQUIRED" });
  }
  const failed = { code: -32002, message: "AUTHENTICATION_FAILED" };
  expect((await wire.answer("connect", { token: "wrong" })).error).toMatchObject(failed);
  expect((await wire.answer("connect", {})).error).toMatchObject(failed);
  expect(await wire.request("connect", { token: TOKEN })).toMatchObject({ ok: true });
  expect(await wire.request("ping", {})).toMatchObject({ message: "pong", protocolVersion: 3 });
});

test.runIf(ours)("a connection that has not shown the token hears nothing of the sessions of others", async () => {
  await using runtime = await spawnTcp({ env: { COPILOT_CONNECTION_TOKEN: TOKEN } });
  const [stranger, client] = [await runtime.open(), await runtime.open()];
  await stranger.answer("ping", {});
  await client.request("connect", { token: TOKEN });
  const { sessionId } = await client.request("session.create", { workingDirectory: runtime.folders.folder });
  await client.until(({ method }) => method === "session.lifecycle");
  await client.request("session.delete", { sessionId });
  expect((await stranger.answer("session.list", {})).error?.code).toBe(-32001);
  expect(stranger.messages.filter(({ method }) => method !== undefined)).toEqual([]);
});

test("a token opens the door for one connection only", async () => {
  await using runtime = await spawnTcp({ env: { COPILOT_CONNECTION_TOKEN: TOKEN } });
  const [first, second] = [await runtime.open(), await runtime.open()];
  await first.request("connect", { token: TOKEN });
  expect((await second.answer("ping", {})).error?.code).toBe(-32001);
});

test("official clients reach a running server by its address, and one with a wrong token is turned away", async () => {
  await using runtime = await spawnTcp({ env: { COPILOT_CONNECTION_TOKEN: TOKEN } });
  const reach = (connectionToken: string) =>
    new CopilotClient({ connection: RuntimeConnection.forUri(`127.0.0.1:${runtime.port}`, { connectionToken }) });
  const [good, bad] = [reach(TOKEN), reach("wrong")];
  await good.start();
  expect(await good.ping("there")).toMatchObject({ message: "pong: there" });
  await expect(bad.start()).rejects.toThrow(/AUTHENTICATION_FAILED/);
  await bad.forceStop();
  expect(await good.ping()).toMatchObject({ message: "pong" });
  await good.stop();
});

test("two clients on one session see the same events in the same order", async () => {
  await using runtime = await spawnTcp({ env: { COPILOT_CONNECTION_TOKEN: TOKEN } });
  await using model = await startModelServer();
  const connection = RuntimeConnection.forUri(`127.0.0.1:${runtime.port}`, { connectionToken: TOKEN });
  const [one, two] = [new CopilotClient({ connection }), new CopilotClient({ connection })];
  const endpoint = model.endpoint().script(say("for both"));
  const [seenByOne, seenByTwo] = [new EventRecord(), new EventRecord()];
  await Promise.all([one.start(), two.start()]);
  const session = await one.createSession({ ...byok(endpoint), onEvent: seenByOne.push });
  await two.resumeSession(session.sessionId, { ...byok(endpoint), onEvent: seenByTwo.push });
  await seenByOne.until("session.resume");
  await session.send({ prompt: "hi" });
  await Promise.all([seenByOne.until("session.idle"), seenByTwo.until("session.idle")]);
  const after = (record: EventRecord) => record.events.slice(record.events.findIndex((e) => e.type === "user.message"));
  expect(after(seenByTwo).map(({ id }) => id)).toEqual(after(seenByOne).map(({ id }) => id));
  expect(seenByTwo.one("assistant.message").data.content).toBe("for both");
  await Promise.all([one.stop(), two.stop()]);
});

test("the session stays open for the other client when one leaves", async () => {
  await using runtime = await spawnTcp();
  await using model = await startModelServer();
  const connection = RuntimeConnection.forUri(`127.0.0.1:${runtime.port}`);
  const [one, two] = [new CopilotClient({ connection }), new CopilotClient({ connection })];
  const endpoint = model.endpoint().script(say("still here"));
  await Promise.all([one.start(), two.start()]);
  const first = await one.createSession(byok(endpoint));
  const record = new EventRecord();
  const second = await two.resumeSession(first.sessionId, { ...byok(endpoint), onEvent: record.push });
  await first.disconnect();
  await second.send({ prompt: "anybody?" });
  await record.until("session.idle");
  expect(record.one("assistant.message").data.content).toBe("still here");
  await Promise.all([one.stop(), two.stop()]);
});

test.runIf(ours)("a client that has not joined a session can list and delete it, and cannot act in it", async () => {
  await using runtime = await spawnTcp();
  await using model = await startModelServer();
  const connection = RuntimeConnection.forUri(`127.0.0.1:${runtime.port}`);
  const [one, two] = [new CopilotClient({ connection }), new CopilotClient({ connection })];
  await Promise.all([one.start(), two.start()]);
  const { sessionId } = await one.createSession(byok(model.endpoint()));
  expect((await two.listSessions()).map((each) => each.sessionId)).toEqual([sessionId]);
  expect(await two.getSessionMetadata(sessionId)).toMatchObject({ sessionId });
  expect(await two.getLastSessionId()).toBe(sessionId);
  const wire = await runtime.open();
  await wire.request("connect", {});
  for (const method of ["session.send", "session.abort", "session.options.update", "session.permissions.setApproveAll"])
    expect((await wire.answer(method, { sessionId, prompt: "hi" })).error).toMatchObject({
      code: -32603,
      message: expect.stringContaining(`Session not found for sessionId: ${sessionId}`),
    });
  await two.deleteSession(sessionId);
  expect(await two.listSessions()).toEqual([]);
  await Promise.all([one.forceStop(), two.stop()]);
});

test("a stdio runtime ends by itself when its input is closed", async () => {
  await using runtime = await spawnStdio();
  await runtime.wire.request("connect", {});
  const exited = once(runtime.process, "exit");
  runtime.wire.end();
  const [code] = await exited;
  expect(code).toBe(0);
});

test("runtime.shutdown is answered, the process goes on, and SIGTERM ends the process with code 0", async () => {
  await using runtime = await spawnStdio();
  await runtime.wire.request("connect", {});
  expect((await runtime.wire.answer("runtime.shutdown", {})).error).toBeUndefined();
  const exited = once(runtime.process, "exit");
  runtime.process.kill("SIGTERM");
  expect((await exited)[0]).toBe(0);
});

test("stop leaves a session that a new process can resume", async () => {
  await using world = await startClient();
  const talk = await openTalk(world);
  talk.model.script(say("remember me"));
  await talk.ask("hi");
  await world.client.stop();
  await using again = await startClient({ folders: world.folders, model: world.model });
  await using resumed = await resumeTalk(again, talk.session.sessionId);
  const said = (await resumed.session.getEvents()).filter((event) => event.type === "assistant.message");
  expect(said.map((event) => event.data.content)).toEqual(["remember me"]);
});
