import { expect, test, vi } from "vitest";
import * as z from "zod";
import { RetinueClient, type RetinueClientOptions } from "./client.ts";
import type { SessionConfig } from "./session-config.ts";
import { FakeRuntime, type FakeTurn } from "./testing/index.ts";
import { defineTool } from "./tools.ts";

async function world({ turn, protocol, options, ...config }: Setup = {}) {
  const runtime = new FakeRuntime({
    protocol: protocol ?? 3,
    ...(turn ? { turn: (given) => turn(given, runtime) } : {}),
  });
  const errors: unknown[] = [];
  const client = new RetinueClient({
    connection: runtime.connection(),
    onError: (error) => errors.push(error),
    ...options,
  });
  const session = await client.createSession({ sessionId: "s", ...config });
  return { runtime, client, session, errors, [Symbol.asyncDispose]: async () => void (await client.stop()) };
}
interface Setup extends SessionConfig {
  turn?: (given: Parameters<FakeTurn>[0], runtime: FakeRuntime) => unknown;
  protocol?: 2 | 3;
  options?: RetinueClientOptions;
}

test.each([2, 3] as const)(
  "sendAndWait resolves with the main agent's last message (protocol %i)",
  async (protocol) => {
    await using app = await world({ protocol });
    expect((await app.session.sendAndWait("hello"))?.data.content).toBe("You said: hello");
    expect((await app.session.sendAndWait({ prompt: "again" }))?.data.content).toBe("You said: again");
  },
);

test("sendAndWait resolves in autopilot mode", async () => {
  await using app = await world({
    turn: ({ sessionId }, runtime) => {
      runtime.emit(sessionId, "assistant.message", { content: "done", messageId: "m" });
      runtime.emit(sessionId, "session.idle", { mode: "autopilot" });
    },
  });
  expect((await app.session.sendAndWait("go"))?.data.content).toBe("done");
});

test("an error of a sub-agent does not reject sendAndWait, an error of the main agent does", async () => {
  await using app = await world({
    turn: ({ sessionId, prompt }, runtime) => {
      const error = { errorType: "query", message: `${prompt} broke` };
      if (prompt === "child") runtime.emit(sessionId, "session.error", error, { agentId: "a" });
      else runtime.emit(sessionId, "session.error", error);
      runtime.emit(sessionId, "assistant.message", { content: "from a sub-agent", messageId: "m" }, { agentId: "a" });
      runtime.say(sessionId, "went on");
    },
  });
  expect((await app.session.sendAndWait("child"))?.data.content).toBe("went on");
  await expect(app.session.sendAndWait("main")).rejects.toMatchObject({ code: "turn_failed", message: "main broke" });
});

test("the idle of an earlier prompt does not end the wait for a prompt sent meanwhile", async () => {
  let release: () => void = () => undefined;
  await using app = await world({
    turn: async ({ sessionId, prompt }, runtime) => {
      if (prompt === "second") runtime.say(sessionId, "second answer");
      else release = () => runtime.say(sessionId, "first answer");
    },
  });
  await app.session.send("first");
  await app.client.ping();
  app.runtime.handle("session.send", ({ sessionId, prompt }) => {
    release(); // The first run ends just as the second prompt arrives.
    app.runtime.emit(String(sessionId), "user.message", { content: String(prompt) });
    app.runtime.say(String(sessionId), "second answer");
    return { messageId: "2" };
  });
  expect((await app.session.sendAndWait("second"))?.data.content).toBe("second answer");
});

test("sendAndWait ends at its time limit and at a signal", async () => {
  await using app = await world({ turn: () => undefined });
  await expect(app.session.sendAndWait("x", 5)).rejects.toMatchObject({ code: "timed_out" });
  await expect(app.session.sendAndWait("x", { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: "cancelled",
  });
});

test("sendAndWait has no limit of time of its own", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    await using app = await world({ turn: () => undefined });
    const answer = app.session.sendAndWait("work for a day");
    const limitless = app.session.sendAndWait("and this", {});
    await vi.advanceTimersByTimeAsync(24 * 3_600_000);
    app.runtime.say("s", "done");
    expect((await answer)?.data.content).toBe("done");
    expect((await limitless)?.data.content).toBe("done");
  } finally {
    vi.useRealTimers();
  }
});

test("a failed send rejects sendAndWait with the runtime's own error", async () => {
  await using app = await world();
  app.runtime.handle("session.send", () => {
    throw new Error("queue is full");
  });
  await expect(app.session.sendAndWait("x")).rejects.toThrow("queue is full");
});

test("listeners of one type and of all hear events in order; one that throws is reported and stops no other", async () => {
  await using app = await world();
  const seen: string[] = [];
  app.session.on("assistant.message", () => {
    throw new Error("listener broke");
  });
  const stop = app.session.on("assistant.message", ({ data }) => seen.push(data.content));
  app.session.on(({ type }) => seen.push(type));
  await app.session.sendAndWait("a");
  stop();
  await app.session.sendAndWait("b");
  expect(seen).toEqual([
    "user.message",
    "You said: a",
    "assistant.message",
    "session.idle",
    "user.message",
    "assistant.message",
    "session.idle",
  ]);
  expect(app.errors).toEqual([new Error("listener broke"), new Error("listener broke")]);
});

test("events of types that this SDK does not know are delivered too", async () => {
  await using app = await world();
  const seen: string[] = [];
  app.session.on(({ type }) => seen.push(type));
  app.runtime.send("s", { type: "future.event", data: {}, id: "1", timestamp: "", parentId: null });
  app.runtime.send("s", { nonsense: true });
  await app.client.ping();
  expect(seen).toEqual(["future.event"]);
  expect(app.errors).toHaveLength(1);
});

test("a loop over a session yields its events until the session is left", async () => {
  await using app = await world();
  const seen: string[] = [];
  const loop = (async () => {
    for await (const { type } of app.session) seen.push(type);
  })();
  await app.session.sendAndWait("x");
  await app.session.disconnect();
  await loop;
  expect(seen).toEqual(["user.message", "assistant.message", "session.idle"]);
});

test("onEvent hears what comes before createSession returns", async () => {
  const runtime = new FakeRuntime();
  runtime.handle("session.create", ({ sessionId }) => {
    runtime.emit(String(sessionId), "session.mode_changed", { newMode: "plan", previousMode: "interactive" });
    return { sessionId };
  });
  await using client = new RetinueClient({ connection: runtime.connection() });
  const seen: string[] = [];
  await client.createSession({ onEvent: ({ type }) => seen.push(type) });
  expect(seen).toEqual(["session.mode_changed"]);
});

test("rpc reaches every method by its path and fills in the session id", async () => {
  await using app = await world();
  app.runtime.handle("session.tasks.list", () => ({ tasks: [] }));
  app.runtime.handle("session.permissions.paths.list", () => ({ directories: ["/"], primary: "/" }));
  app.runtime.handle("models.list", () => ({ models: [] }));
  expect((await app.session.rpc.tasks.list()).tasks).toEqual([]);
  expect(app.runtime.lastCall("session.tasks.list")).toEqual({ sessionId: "s" });
  expect((await app.client.rpc.models.list()).models).toEqual([]);
  await expect(app.session.rpc.mode.get()).rejects.toMatchObject({ code: "method_not_found" });
  // @ts-expect-error: a prompt is needed
  await app.session.rpc.send({});
  // @ts-expect-error: there is no such method
  expect(app.session.rpc.tasks.absent).toBeUndefined();
  await expect(app.session.rpc.call("session.tasks.absent")).rejects.toThrow("session.tasks.absent");
});

test("waitForIdle resolves at once when nothing runs, and at the next idle otherwise", async () => {
  await using app = await world({ turn: () => undefined });
  let hasActiveWork = false;
  app.runtime.handle("session.metadata.activity", () => ({ hasActiveWork, abortable: false }));
  await app.session.waitForIdle();
  hasActiveWork = true;
  const idle = app.session.waitForIdle();
  await app.client.ping();
  app.runtime.emit("s", "session.idle", {});
  await idle;
  await expect(app.session.waitForIdle({ timeoutMs: 5 })).rejects.toMatchObject({ code: "timed_out" });
});

test("waitForTask resolves when the task no longer runs, and rejects for one that is not there", async () => {
  await using app = await world();
  const task = { type: "agent", id: "a", toolCallId: "t", agentType: "x", description: "", prompt: "", startedAt: "" };
  let status = "running";
  app.runtime.handle("session.tasks.list", () => ({ tasks: [{ ...task, status }] }));
  const waiting = app.session.waitForTask("a");
  await app.client.ping();
  status = "idle";
  app.runtime.emit("s", "session.background_tasks_changed", {});
  expect(await waiting).toMatchObject({ id: "a", status: "idle" });
  await expect(app.session.waitForTask("b")).rejects.toMatchObject({ code: "agent_not_found" });
});

test("a host task numbers its updates, and a cancel from the runtime reaches its handler", async () => {
  await using app = await world();
  app.runtime.handle("session.tasks.register", ({ clientTaskId }) => ({
    task: { id: "t1", clientTaskId, sequence: 0 },
    created: true,
    reclaimed: false,
  }));
  app.runtime.handle("session.tasks.update", () => ({ applied: true }));
  const reasons: string[] = [];
  const task = await app.session.tasks.register({
    clientTaskId: "mine",
    description: "d",
    onCancel: (reason) => void reasons.push(reason),
  });
  await task.progress({ message: "half" });
  const cancel = { sessionId: "s", id: "t1", clientTaskId: "mine", cancellationId: "c", reason: "cancel_requested" };
  expect(await app.runtime.request("tasks.cancel", cancel)).toEqual({ cancelled: true });
  await task.complete({ ok: true });
  expect(await app.runtime.request("tasks.cancel", cancel)).toEqual({ cancelled: false });
  expect(reasons).toEqual(["cancel_requested"]);
  const updates = app.runtime.received.filter(({ method }) => method === "session.tasks.update");
  expect(updates.map(({ params }) => params.sequence)).toEqual([1, 2]);
});

test("the tree follows the session's events", async () => {
  await using app = await world();
  const child = app.runtime.startSubagent("s", { agentName: "explore", childSessionId: "c" });
  await app.client.ping();
  expect(app.session.tree().nodes.get("c")).toMatchObject({ name: "explore", status: "running", path: ["explore"] });
  app.runtime.endSubagent(child);
  await app.client.ping();
  expect((await app.session.loadTree()).nodes.get("c")?.status).toBe("completed");
});

test("a session left by `await using` is detached, and by a client of protocol 2 destroyed", async () => {
  for (const [protocol, method] of [
    [3, "session.detach"],
    [2, "session.destroy"],
  ] as const) {
    await using app = await world({ protocol });
    {
      await using session = await app.client.createSession({ sessionId: "short" });
      await session.send("x");
    }
    expect(app.runtime.lastCall(method)).toEqual({ sessionId: "short" });
    expect(() => app.client.resolveSession("short")).toThrow("unknown session short");
  }
});

test("the options of a session go over the wire by their wire names, and functions do not", async () => {
  await using app = await world({
    model: "m",
    tools: [
      defineTool("save", {
        description: "Saves",
        parameters: z.object({ content: z.string() }),
        handler: () => "",
        skipPermission: true,
      }),
      defineTool("load", { description: "Loads", parameters: { type: "object" } }),
    ],
    customAgents: [
      { name: "reviewer", prompt: "p", tools: ["save", "view"] },
      { name: "none", prompt: "p", tools: [] },
      { name: "all", prompt: "p", tools: null },
      { name: "unset", prompt: "p", mcpServers: { db: { command: "x", workingDirectory: "/w" } } },
    ],
    configDirectory: "/config",
    largeOutput: { enabled: true, outputDirectory: "/out" },
    mcpServers: { web: { type: "http", url: "http://localhost" } },
    provider: { type: "openai", baseUrl: "http://localhost", bearerTokenProvider: () => "secret" },
    systemMessage: { mode: "customize", sections: { tone: { action: (text) => text }, safety: { action: "remove" } } },
    commands: [{ name: "deploy", description: "d", handler: () => undefined }],
    defaultAgent: { excludedTools: ["save"] },
    hooks: { onPreToolUse: () => undefined },
    onPermissionRequest: () => ({ kind: "approve-once" }),
  });
  const parameters = { type: "object", properties: { content: { type: "string" } }, required: ["content"] };
  const params = app.runtime.lastCall("session.create");
  expect(params).toMatchObject({
    sessionId: "s",
    model: "m",
    tools: [
      { name: "save", description: "Saves", parameters, skipPermission: true },
      { name: "load", description: "Loads", parameters: { type: "object" } },
    ],
    configDir: "/config",
    largeOutput: { enabled: true, outputDir: "/out" },
    mcpServers: { web: { type: "http", url: "http://localhost" } },
    provider: { type: "openai", baseUrl: "http://localhost", hasBearerTokenProvider: true },
    systemMessage: { mode: "customize", sections: { tone: { action: "transform" }, safety: { action: "remove" } } },
    commands: [{ name: "deploy", description: "d" }],
    requestPermission: true,
    requestUserInput: false,
    requestElicitation: false,
    hooks: true,
    envValueMode: "direct",
    toolFilterPrecedence: "excluded",
    includeSubAgentStreamingEvents: true,
  });
  expect(params?.customAgents).toMatchObject([
    { name: "reviewer", toolDefinitions: [{ name: "save", description: "Saves", parameters }] },
    { name: "none", toolDefinitions: [] },
    { name: "all", tools: null },
    { name: "unset", mcpServers: { db: { command: "x", cwd: "/w" } } },
  ]);
  expect(JSON.stringify(params?.customAgents)).not.toContain("skipPermission");
});

test.each(["session.create", "session.resume"])(
  "%s advertises tools to agents with a list and to no others",
  async (method) => {
    await using app = await world();
    const config: SessionConfig = {
      tools: [defineTool("save", { description: "Saves", parameters: { type: "object" }, handler: () => "" })],
      customAgents: [
        { name: "listed", prompt: "p", tools: ["save"] },
        { name: "unset", prompt: "p" },
        { name: "null", prompt: "p", tools: null },
      ],
    };
    if (method === "session.create") await app.client.createSession(config);
    else await app.client.resumeSession("s", config);
    const agents = app.runtime.lastCall(method)?.customAgents;
    expect(agents).toEqual([
      {
        name: "listed",
        prompt: "p",
        tools: ["save"],
        toolDefinitions: [{ name: "save", description: "Saves", parameters: { type: "object" } }],
      },
      { name: "unset", prompt: "p" },
      { name: "null", prompt: "p", tools: null },
    ]);
  },
);
