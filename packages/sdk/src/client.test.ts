import { linkedTransports, Peer } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { RetinueClient } from "./client.ts";
import { RuntimeConnection } from "./connection.ts";
import { FakeRuntime } from "./testing/index.ts";
import { defineTool } from "./tools.ts";

/** A server that knows only what it is given. */
function bareServer(answers: Record<string, (params: unknown) => unknown>) {
  return RuntimeConnection.forTransport(() => {
    const [client, server] = linkedTransports();
    new Peer(server, { request: (method, params) => answers[method] && Promise.resolve(answers[method](params)) });
    return client;
  });
}

describe("handshake", () => {
  test("`connect` tells the token, the kinds of tasks and who we are", async () => {
    const runtime = new FakeRuntime();
    const connection = { ...runtime.connection(), connectionToken: "secret" };
    await using client = new RetinueClient({ connection, clientInfo: { applicationName: "test" } });
    await client.start();
    expect(runtime.lastCall("connect")).toEqual({
      token: "secret",
      supportedTaskKinds: ["agent", "client", "shell"],
      clientInfo: { applicationName: "test" },
    });
    expect(client.state).toBe("connected");
  });

  test.each([2, 3])(
    "a server without `connect` is asked by `ping` and may speak version %i",
    async (protocolVersion) => {
      await using client = new RetinueClient({ connection: bareServer({ ping: () => ({ protocolVersion }) }) });
      await client.start();
      expect(await client.ping()).toEqual({ protocolVersion });
    },
  );

  test("a server that says in words that it has no `connect` is asked by `ping` too", async () => {
    const connect = () => {
      throw new Error("Unhandled method connect");
    };
    await using client = new RetinueClient({
      connection: bareServer({ connect, ping: () => ({ protocolVersion: 2 }) }),
    });
    await client.start();
  });

  test.each([[1], [4], [undefined], ["3"]])("version %s is refused, with both sides named", async (protocolVersion) => {
    await using client = new RetinueClient({ connection: bareServer({ connect: () => ({ protocolVersion }) }) });
    const refused = client.start();
    await expect(refused).rejects.toMatchObject({ code: "version_mismatch" });
    await expect(refused).rejects.toThrow(/2 and 3.*(version|no version)/);
    expect(client.state).toBe("disconnected");
  });

  test("a wrong token rejects start with the runtime's error", async () => {
    const runtime = new FakeRuntime().handle("connect", () => {
      throw new Error("AUTHENTICATION_FAILED");
    });
    await using client = new RetinueClient({ connection: runtime.connection() });
    await expect(client.start()).rejects.toThrow("AUTHENTICATION_FAILED");
  });
});

describe("sessions", () => {
  test("a call starts the client by itself, once", async () => {
    const runtime = new FakeRuntime();
    await using client = new RetinueClient({ connection: runtime.connection() });
    await Promise.all([client.getStatus(), client.createSession(), client.createSession()]);
    expect(runtime.received.filter(({ method }) => method === "connect")).toHaveLength(1);
  });

  test("an id that a version 3 runtime changes is an error, one that a version 2 runtime chooses is taken", async () => {
    const chosen = () => ({ sessionId: "chosen" });
    const three = new FakeRuntime().handle("session.create", chosen);
    await using strict = new RetinueClient({ connection: three.connection() });
    await expect(strict.createSession({ sessionId: "mine" })).rejects.toMatchObject({ code: "session_invalid" });
    expect(() => strict.resolveSession("mine")).toThrow("unknown session mine");
    const two = new FakeRuntime({ protocol: 2 }).handle("session.create", chosen);
    await using client = new RetinueClient({ connection: two.connection() });
    const session = await client.createSession({ tools: [defineTool("t", { handler: () => "ok" })] });
    expect(session.sessionId).toBe("chosen");
    expect(await two.callTool("chosen", { toolName: "t" })).toMatchObject({ result: { textResultForLlm: "ok" } });
  });

  test("a session answers before `session.create` is answered", async () => {
    const runtime = new FakeRuntime();
    let early: unknown;
    runtime.handle("session.create", async ({ sessionId }) => {
      early = await runtime.askUser(String(sessionId), "who?");
      return { sessionId };
    });
    await using client = new RetinueClient({ connection: runtime.connection() });
    await client.createSession({ onUserInputRequest: () => ({ answer: "me", wasFreeform: true }) });
    expect(early).toEqual({ answer: "me", wasFreeform: true });
  });

  test("a session that could not be opened leaves nothing behind", async () => {
    const runtime = new FakeRuntime().handle("session.resume", () => {
      throw new Error("Session not found: gone");
    });
    await using client = new RetinueClient({ connection: runtime.connection() });
    await expect(client.resumeSession("gone")).rejects.toThrow("Session not found: gone");
    expect(() => client.resolveSession("gone")).toThrow("unknown session gone");
  });

  test("deleting a session that is not there says so and keeps an open one", async () => {
    const runtime = new FakeRuntime();
    await using client = new RetinueClient({ connection: runtime.connection() });
    await client.createSession({ sessionId: "s" });
    runtime.handle("session.delete", () => ({ success: false, error: "Session file not found for s" }));
    await expect(client.deleteSession("s")).rejects.toThrow("Session file not found for s");
    expect(client.resolveSession("s").isChild).toBe(false);
  });

  test("listings come with dates and the words of the SDK", async () => {
    const iso = "2030-01-02T03:04:05.000Z";
    const listing = {
      sessionId: "s",
      startTime: iso,
      modifiedTime: iso,
      isRemote: false,
      context: { cwd: "/w", branch: "b" },
    };
    const runtime = new FakeRuntime()
      .handle("session.list", () => ({ sessions: [listing] }))
      .handle("session.getMetadata", () => ({}))
      .handle("session.getLastId", () => ({ sessionId: "s" }))
      .handle("auth.getStatus", () => ({ isAuthenticated: false }))
      .handle("models.list", () => ({ models: [{ id: "m" }] }));
    await using client = new RetinueClient({ connection: runtime.connection() });
    expect(await client.listSessions({ workingDirectory: "/w" })).toEqual([
      {
        sessionId: "s",
        startTime: new Date(iso),
        modifiedTime: new Date(iso),
        isRemote: false,
        context: { workingDirectory: "/w", branch: "b" },
      },
    ]);
    expect(runtime.lastCall("session.list")).toEqual({ filter: { cwd: "/w" } });
    expect(await client.getSessionMetadata("x")).toBeUndefined();
    expect(await client.getLastSessionId()).toBe("s");
    expect(await client.getAuthStatus()).toEqual({ isAuthenticated: false });
    expect(await client.listModels()).toEqual([{ id: "m" }]);
    expect(await client.getStatus()).toEqual({ version: "fake", protocolVersion: 3 });
  });

  test("lifecycle listeners hear one type or all, until they are taken back", async () => {
    const runtime = new FakeRuntime();
    await using client = new RetinueClient({ connection: runtime.connection() });
    await client.start();
    const seen: string[] = [];
    client.onLifecycle("session.deleted", ({ sessionId }) => seen.push(`deleted ${sessionId}`));
    const stop = client.onLifecycle(({ type, metadata }) =>
      seen.push(`${type} ${metadata?.startTime.getTime() ?? ""}`),
    );
    runtime.notify("session.lifecycle", {
      type: "session.created",
      sessionId: "s",
      metadata: { startTime: new Date(7).toISOString(), modifiedTime: "" },
    });
    await client.ping();
    stop();
    runtime.notify("session.lifecycle", { type: "session.deleted", sessionId: "s" });
    runtime.notify("session.lifecycle", { type: "nonsense", sessionId: 1 });
    await client.ping();
    expect(seen).toEqual(["session.created 7", "deleted s"]);
  });
});

describe("the end", () => {
  test("stop detaches every session and can be followed by a new start", async () => {
    const runtime = new FakeRuntime();
    const client = new RetinueClient({ connection: runtime.connection() });
    await client.createSession({ sessionId: "a" });
    await client.createSession({ sessionId: "b" });
    expect(await client.stop()).toEqual([]);
    const left = runtime.received.filter(({ method }) => method === "session.detach");
    expect(left.map(({ params }) => params.sessionId)).toEqual(["a", "b"]);
    expect(client.state).toBe("disconnected");
    await client.createSession({ sessionId: "c" });
    expect(await client.stop()).toEqual([]);
    expect(await client.stop()).toEqual([]);
  });

  test("a session that cannot be left is tried three times and reported", async () => {
    const runtime = new FakeRuntime().handle("session.detach", () => {
      throw new Error("stuck");
    });
    const client = new RetinueClient({ connection: runtime.connection() });
    await client.createSession();
    expect((await client.stop()).map(({ message }) => message)).toEqual([expect.stringContaining("stuck")]);
    expect(runtime.received.filter(({ method }) => method === "session.detach")).toHaveLength(3);
  });

  test("when the runtime is gone every promise rejects with one error, and stop still works", async () => {
    const runtime = new FakeRuntime({ turn: () => undefined });
    runtime.handle("session.tasks.list", () => new Promise(() => undefined));
    const client = new RetinueClient({ connection: runtime.connection() });
    const ended: unknown[] = [];
    const session = await client.createSession({ onCleanup: (running) => void ended.push(running) });
    const loop = (async () => {
      for await (const _event of session);
    })();
    const pending = [
      session.sendAndWait("x"),
      session.rpc.tasks.list(),
      session.tasks.list(),
      session.waitForIdle(),
      session.waitForTask("a"),
      loop,
    ];
    const settled = Promise.allSettled(pending);
    await client.ping();
    runtime.crash();
    const reasons = (await settled).map((outcome) => (outcome.status === "rejected" ? outcome.reason : undefined));
    expect(new Set(reasons).size).toBe(1);
    expect(reasons[0]).toMatchObject({ name: "AppError", code: "connection_closed" });
    expect(client.state).toBe("disconnected");
    expect(ended).toEqual([[]]);
    expect(await client.stop()).toEqual([]);
    await expect(session.send("late")).rejects.toMatchObject({ code: "connection_closed" });
  });

  test("an answer that comes after the runtime is gone starts no runtime anew", async () => {
    const runtime = new FakeRuntime();
    let opened = 0;
    const { open } = runtime.connection();
    const connection = RuntimeConnection.forTransport(() => {
      opened += 1;
      return open();
    });
    const errors: unknown[] = [];
    const client = new RetinueClient({ connection, onError: (error) => errors.push(error) });
    let decide: () => void = () => undefined;
    const session = await client.createSession({
      sessionId: "s",
      onPermissionRequest: () =>
        new Promise((resolve) => {
          decide = () => resolve({ kind: "approve-once" });
        }),
    });
    void runtime.askPermission("s", { kind: "read", path: "/" });
    await client.ping();
    runtime.drop();
    await expect.poll(() => client.state).toBe("disconnected");
    decide();
    await expect(session.send("late")).rejects.toMatchObject({ code: "connection_closed" });
    await session.disconnect();
    expect([opened, errors]).toEqual([1, []]);
  });

  test("stop while the runtime has not answered yet ends it", async () => {
    const client = new RetinueClient({ connection: bareServer({ connect: () => new Promise(() => undefined) }) });
    const starting = expect(client.start()).rejects.toMatchObject({ code: "connection_closed" });
    await expect.poll(() => client.state).toBe("connecting");
    await client.stop();
    await starting;
    expect(client.state).toBe("disconnected");
  });

  test("forceStop ends waits at once, also while a handler hangs", async () => {
    const runtime = new FakeRuntime({ turn: () => undefined });
    const client = new RetinueClient({ connection: runtime.connection() });
    const signals: AbortSignal[] = [];
    const session = await client.createSession({
      sessionId: "s",
      tools: [
        defineTool("hang", {
          handler: (_args, { signal }) => {
            signals.push(signal);
            return new Promise(() => undefined);
          },
        }),
      ],
    });
    const waiting = session.sendAndWait("x");
    void runtime.callTool("s", { toolName: "hang" });
    await client.ping();
    const settled = expect(waiting).rejects.toBeInstanceOf(Error);
    await client.forceStop();
    await settled;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});
