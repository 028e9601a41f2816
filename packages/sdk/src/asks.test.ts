/** Whatever a runtime can ask of a host, and what becomes of handlers that fail. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { RetinueClient } from "./client.ts";
import type { SessionConfig } from "./session-config.ts";
import { FakeRuntime } from "./testing/index.ts";
import { defineTool, type ToolHandler } from "./tools.ts";

async function world(config: SessionConfig, protocol: 2 | 3 = 3) {
  const runtime = new FakeRuntime({ protocol });
  const errors: unknown[] = [];
  const client = new RetinueClient({ connection: runtime.connection(), onError: (error) => errors.push(error) });
  const session = await client.createSession({ sessionId: "s", ...config });
  return { runtime, client, session, errors, [Symbol.asyncDispose]: async () => void (await client.stop()) };
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

describe("a host tool's result", () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const object = { textResultForLlm: "t", resultType: "denied" as const, sessionLog: "log" };
  test.each<[string, ToolHandler, unknown, unknown]>([
    [
      "a text",
      () => "text",
      { result: "text" },
      { textResultForLlm: "text", resultType: "success", toolTelemetry: {} },
    ],
    ["nothing", () => undefined, { result: "" }, { textResultForLlm: "", resultType: "success", toolTelemetry: {} }],
    ["null", () => null, { result: "" }, { textResultForLlm: "", resultType: "success", toolTelemetry: {} }],
    ["an object", () => ({ a: 1 }), { result: '{"a":1}' }, { textResultForLlm: '{"a":1}', resultType: "success" }],
    ["a number", () => 7, { result: "7" }, { textResultForLlm: "7" }],
    ["a result object", () => object, { result: object }, object],
    ["half a result object", () => ({ textResultForLlm: 1 }), { result: '{"textResultForLlm":1}' }, {}],
  ])("%s", async (_name, handler, v3, v2) => {
    const tools = [defineTool("t", { handler })];
    await using three = await world({ tools });
    expect(await three.runtime.callTool("s", { toolName: "t" })).toEqual(v3);
    await using two = await world({ tools }, 2);
    expect((await two.runtime.callTool("s", { toolName: "t" })).result).toMatchObject(v2 ?? {});
  });

  test.each<[string, ToolHandler, RegExp]>([
    ["throws", () => Promise.reject(new Error("secret reason")), /secret reason/],
    ["throws at once", () => raise("at once"), /at once/],
    ["returns what JSON cannot hold", () => circular, /circular/i],
    ["returns a bigint", () => 1n, /BigInt/],
  ])("a tool that %s fails, and protocol 2 keeps the reason from the model", async (_name, handler, reason) => {
    const tools = [defineTool("t", { handler })];
    await using three = await world({ tools });
    expect((await three.runtime.callTool("s", { toolName: "t" })).error).toMatch(reason);
    await using two = await world({ tools }, 2);
    const { result } = await two.runtime.callTool("s", { toolName: "t" });
    expect(result).toMatchObject({ resultType: "failure", error: expect.stringMatching(reason) });
    expect(result).toMatchObject({ textResultForLlm: expect.not.stringMatching(reason) });
  });

  test("arguments are parsed by a zod schema, and those that do not fit never reach the handler", async () => {
    const seen: unknown[] = [];
    const parameters = z.object({ count: z.number(), unit: z.string().default("m") });
    await using app = await world({
      tools: [defineTool("t", { parameters, handler: ({ count, unit }) => void seen.push([count, unit]) })],
    });
    await app.runtime.callTool("s", { toolName: "t", arguments: { count: 2 } });
    const bad = await app.runtime.callTool("s", { toolName: "t", arguments: { count: "two" } });
    expect(seen).toEqual([[2, "m"]]);
    expect(bad).toMatchObject({
      result: { resultType: "failure", textResultForLlm: expect.stringContaining("count") },
    });
  });

  test("a tool that hangs holds up nobody, and is told when its call is settled elsewhere", async () => {
    let aborted = false;
    const hang: ToolHandler = (_args, { signal }) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return never();
    };
    await using app = await world({
      tools: [defineTool("hang", { handler: hang }), defineTool("t", { handler: () => "ok" })],
    });
    let pending = "";
    void app.runtime.ask((requestId) => {
      pending = requestId;
      const data = { requestId, sessionId: "s", toolCallId: "c", toolName: "hang" };
      app.runtime.emit("s", "external_tool.requested", data);
    });
    expect(await app.runtime.callTool("s", { toolName: "t" })).toEqual({ result: "ok" });
    app.runtime.emit("s", "external_tool.completed", { requestId: pending });
    await app.client.ping();
    expect(aborted).toBe(true);
    expect(await app.client.stop()).toEqual([]);
  });

  test("a request that is sent twice runs its tool once", async () => {
    const runs: unknown[] = [];
    await using app = await world({ tools: [defineTool("t", { handler: (args) => void runs.push(args) })] });
    await app.runtime.ask((requestId) => {
      const data = { requestId, sessionId: "s", toolCallId: "c", toolName: "t" };
      app.runtime.emit("s", "external_tool.requested", data);
      app.runtime.emit("s", "external_tool.requested", data);
    });
    await app.client.ping();
    expect(runs).toHaveLength(1);
  });

  test("tools of another client, and tools without a handler, are left to whoever answers for them", async () => {
    await using app = await world({ tools: [defineTool("byHand", {})] });
    for (const toolName of ["byHand", "foreign"]) {
      app.runtime.emit("s", "external_tool.requested", {
        requestId: toolName,
        sessionId: "s",
        toolCallId: "c",
        toolName,
      });
    }
    await app.client.ping();
    expect(app.runtime.lastCall("session.tools.handlePendingToolCall")).toBeUndefined();
  });

  test("a client that joins late learns the running sub-agents from the task list", async () => {
    await using app = await world({});
    const task = { type: "agent", id: "child", toolCallId: "t", agentType: "saver", status: "running", startedAt: "" };
    app.runtime.handle("session.tasks.list", () => ({ tasks: [task] }));
    const tools = [defineTool("save", { handler: () => "saved" }), defineTool("load", { handler: () => "loaded" })];
    await app.client.resumeSession("s", { tools, customAgents: [{ name: "saver", prompt: "p", tools: ["save"] }] });
    const from = { sessionId: "s", childSessionId: "child" };
    expect(await app.runtime.callTool("s", { toolName: "save", from })).toEqual({ result: "saved" });
    expect(await app.runtime.callTool("s", { toolName: "load", from })).toMatchObject({
      result: { resultType: "failure" },
    });
  });

  test("a sub-agent's call is known by its agent id, by the caller of the call, and by its own session id", async () => {
    await using app = await world({
      tools: [defineTool("t", { handler: (_args, { agentName }) => agentName })],
      customAgents: [{ name: "none", prompt: "p", tools: [] }],
    });
    app.runtime.startSubagent("s", { agentName: "free", childSessionId: "child" });
    const ask = (extra: object, toolCallId: string) =>
      app.runtime.ask((requestId) =>
        app.runtime.emit("s", "external_tool.requested", {
          requestId,
          sessionId: "s",
          toolName: "t",
          toolCallId,
          ...extra,
        }),
      );
    expect(await ask({ agentId: "child" }, "1")).toEqual({ result: "free" });
    app.runtime.emit("s", "tool.execution_start", { toolCallId: "2", toolName: "t" }, { agentId: "child" });
    expect(await ask({}, "2")).toEqual({ result: "free" });
    app.runtime.emit("s", "tool.execution_complete", { toolCallId: "2", success: true }, { agentId: "child" });
    expect(await ask({}, "2")).toEqual({ result: "" });
  });
});

describe("a runtime that names a sub-agent's call by an id of its own", () => {
  const tools = [defineTool("t", { handler: (_args, { agentName }) => `ran for ${agentName ?? "main"}` })];
  const customAgents = [{ name: "none", prompt: "p", tools: [] }];
  const request = { sessionId: "inner", toolName: "t", toolCallId: "c" };

  test.each([
    ["free", "ran for free"],
    ["none", "Tool 't' is not supported by this client instance."],
  ])("the call waits for the news whose it is, and then the list of %s counts", async (agentName, text) => {
    await using app = await world({ tools, customAgents });
    app.runtime.startSubagent("s", { agentName, childSessionId: "child" });
    const answer = app.runtime.ask((requestId) => {
      app.runtime.emit("s", "external_tool.requested", { ...request, requestId });
      app.runtime.emit("s", "tool.execution_start", { toolCallId: "c", toolName: "t" }, { agentId: "child" });
    });
    expect(JSON.stringify(await answer)).toContain(text);
  });

  test("the same request under the session's own id settles that it is ours", async () => {
    await using app = await world({ tools });
    const answer = app.runtime.ask((requestId) => {
      app.runtime.emit("s", "external_tool.requested", { ...request, requestId });
      app.runtime.emit("s", "external_tool.requested", { ...request, requestId, sessionId: "s" });
    });
    expect(await answer).toEqual({ result: "ran for main" });
  });
});

describe("permission", () => {
  const request = { kind: "shell", toolCallId: "c" };

  test.each([
    [{ kind: "approve-once" }, "approved"],
    [{ kind: "approve-for-session" }, "approved"],
    [{ kind: "reject", feedback: "no" }, "denied-interactively-by-user"],
    [{ kind: "user-not-available" }, "denied-no-approval-rule-and-could-not-request-from-user"],
    [{ kind: "cancelled" }, "denied-no-approval-rule-and-could-not-request-from-user"],
  ] as const)("%o is %s in protocol 2 and itself in protocol 3", async (decision, kind) => {
    await using three = await world({ onPermissionRequest: () => decision });
    expect(await three.runtime.askPermission("s", request)).toEqual({ result: decision });
    await using two = await world({ onPermissionRequest: () => decision }, 2);
    expect(await two.runtime.askPermission("s", request)).toEqual({ result: { kind } });
  });

  test.each([
    ["throws", () => raise("broken")],
    ["returns nothing", () => undefined],
    ["returns another protocol's word", () => ({ kind: "approved" })],
    ["returns true", () => true],
  ])("a handler that %s never approves", async (_name, handler) => {
    // A program without types may return anything.
    const onPermissionRequest = handler as unknown as SessionConfig["onPermissionRequest"];
    await using three = await world({ onPermissionRequest });
    expect(await three.runtime.askPermission("s", request)).toEqual({ result: { kind: "user-not-available" } });
    await using two = await world({ onPermissionRequest }, 2);
    const { result } = await two.runtime.askPermission("s", request);
    expect(result).toEqual({ kind: "denied-no-approval-rule-and-could-not-request-from-user" });
    expect(three.errors).toHaveLength(1);
  });

  test("without a handler protocol 2 is denied, and protocol 3 leaves the ask to others", async () => {
    await using two = await world({}, 2);
    const { result } = await two.runtime.askPermission("s", request);
    expect(result).toEqual({ kind: "denied-no-approval-rule-and-could-not-request-from-user" });
    await using three = await world({});
    void three.runtime.askPermission("s", request);
    await three.client.ping();
    expect(three.runtime.lastCall("session.permissions.handlePendingPermissionRequest")).toBeUndefined();
  });

  test("`no-result` and asks that a hook resolves get no answer", async () => {
    let asked = 0;
    await using app = await world({
      onPermissionRequest: () => {
        asked += 1;
        return { kind: "no-result" };
      },
    });
    void app.runtime.askPermission("s", request);
    const read = { kind: "read" as const, path: "/", intention: "" };
    app.runtime.emit("s", "permission.requested", { requestId: "r", permissionRequest: read, resolvedByHook: true });
    await app.client.ping();
    expect(asked).toBe(1);
    expect(app.runtime.lastCall("session.permissions.handlePendingPermissionRequest")).toBeUndefined();
  });

  test("the handler is told which sub-agent asks", async () => {
    const seen: unknown[] = [];
    for (const protocol of [2, 3] as const) {
      await using app = await world(
        {
          onPermissionRequest: (_request, { sessionId, childSessionId, agentName }) => {
            seen.push([sessionId, childSessionId, agentName]);
            return { kind: "approve-once" };
          },
        },
        protocol,
      );
      const child = app.runtime.startSubagent("s", { agentName: "explore", childSessionId: "child" });
      await app.runtime.askPermission("s", request, child);
    }
    expect(seen).toEqual([
      ["s", "child", "explore"],
      ["s", "child", "explore"],
    ]);
  });
});

test("a permission ask that overtakes the news about its call still says which sub-agent asks", async () => {
  const seen: unknown[] = [];
  await using app = await world({
    onPermissionRequest: (_request, { agentName }) => {
      seen.push(agentName);
      return { kind: "approve-once" };
    },
  });
  app.runtime.startSubagent("s", { agentName: "explore", childSessionId: "child" });
  const call = { toolCallId: "c", toolName: "bash" };
  const answered = app.runtime.askPermission("s", { kind: "shell", toolCallId: "c" });
  app.runtime.emit("s", "tool.execution_start", call, { agentId: "child" });
  await answered;
  app.runtime.emit("s", "tool.execution_start", { ...call, toolCallId: "main" });
  await app.runtime.askPermission("s", { kind: "shell", toolCallId: "main" });
  expect(seen).toEqual(["explore", undefined]);
});

describe("hooks", () => {
  test("inputs come in the words of the SDK, for every hook", async () => {
    const seen: unknown[] = [];
    await using app = await world({
      hooks: {
        onPreToolUse: (input, { sessionId }) => {
          seen.push([input.toolName, input.workingDirectory, input.timestamp, sessionId]);
          return { permissionDecision: "deny", permissionDecisionReason: "no" };
        },
        onAgentStop: ({ stopHookActive }) => void seen.push(stopHookActive),
        onErrorOccurred: ({ error }) => void seen.push(error),
        onSubagentStop: ({ agentName, response }) => void seen.push([agentName, response]),
      },
    });
    const output = await app.runtime.invokeHook("s", "preToolUse", {
      toolName: "bash",
      toolArgs: {},
      cwd: "/w",
      timestamp: 5,
    });
    expect(output).toEqual({ output: { permissionDecision: "deny", permissionDecisionReason: "no" } });
    expect(await app.runtime.invokeHook("s", "agentStop", { stop_hook_active: true })).toEqual({});
    await app.runtime.invokeHook("s", "errorOccurred", { error: { name: "E", message: "broke" } });
    await app.runtime.invokeHook("s", "subagentStop", { agentName: "x", response: "r" });
    expect(seen).toEqual([["bash", "/w", new Date(5), "s"], true, "broke", ["x", "r"]]);
  });

  test("a hook that is not there, throws, or answers with no object says nothing", async () => {
    const wrong = (() => "yes") as unknown as () => undefined;
    await using app = await world({ hooks: { onPreToolUse: () => raise("hook broke"), onPostToolUse: wrong } });
    for (const hookType of ["preToolUse", "postToolUse", "sessionEnd", "notAHook", "constructor"]) {
      expect(await app.runtime.invokeHook("s", hookType)).toEqual({});
    }
    expect(app.errors).toEqual([new Error("hook broke")]);
  });
});

describe("hooks that are guards", () => {
  test("tell the runtime that they threw or answered with no object", async () => {
    const wrong = (() => "yes") as unknown as () => undefined;
    await using app = await world({
      hooks: { onError: "deny", onPreToolUse: () => raise("hook broke"), onPostToolUse: wrong },
    });
    await expect(app.runtime.invokeHook("s", "preToolUse")).rejects.toThrow("hook broke");
    expect(await app.runtime.invokeHook("s", "postToolUse")).toEqual({ output: "yes" });
    expect(await app.runtime.invokeHook("s", "agentStop")).toEqual({});
    expect(app.errors).toEqual([new Error("hook broke")]);
  });
});

describe("questions, forms, plans, commands", () => {
  test("a question is answered by its handler; a wrong shape, a throw and no handler are errors", async () => {
    await using app = await world({ onUserInputRequest: ({ question }) => ({ answer: question, wasFreeform: false }) });
    expect(await app.runtime.askUser("s", "why?")).toEqual({ answer: "why?", wasFreeform: false });
    const wrong = (() => "42") as unknown as SessionConfig["onUserInputRequest"];
    await using shapeless = await world({ onUserInputRequest: wrong });
    await expect(shapeless.runtime.askUser("s", "?")).rejects.toThrow("{ answer, wasFreeform }");
    await using thrown = await world({ onUserInputRequest: () => raise("not now") });
    await expect(thrown.runtime.askUser("s", "?")).rejects.toThrow("not now");
    await using none = await world({});
    await expect(none.runtime.askUser("s", "?")).rejects.toThrow("onUserInputRequest");
  });

  test.each([
    ["answers", () => ({ action: "accept", content: { name: "n" } }), { action: "accept", content: { name: "n" } }],
    ["throws", () => raise("closed"), { action: "cancel" }],
    ["answers nonsense", () => "ok", { action: "cancel" }],
  ])("a form whose handler %s is settled", async (_name, handler, result) => {
    await using app = await world({
      onElicitationRequest: handler as unknown as SessionConfig["onElicitationRequest"],
    });
    const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
    const answer = await app.runtime.ask((requestId) =>
      app.runtime.emit("s", "elicitation.requested", { requestId, message: "name?", requestedSchema }),
    );
    expect(answer).toEqual({ result });
  });

  test("a command runs its handler and reports its error; other clients' commands are left alone", async () => {
    const ran: string[] = [];
    await using app = await world({
      commands: [
        { name: "deploy", handler: ({ args }) => void ran.push(args) },
        { name: "broken", handler: () => raise("no target") },
      ],
    });
    const execute = (commandName: string) => (requestId: string) =>
      app.runtime.emit("s", "command.execute", { requestId, command: `/${commandName} a`, commandName, args: "a" });
    expect(await app.runtime.ask(execute("deploy"))).toEqual({});
    expect(await app.runtime.ask(execute("broken"))).toEqual({ error: "no target" });
    void app.runtime.ask(execute("foreign"));
    await app.client.ping();
    expect(ran).toEqual(["a"]);
    const answered = app.runtime.received.filter(({ method }) => method === "session.commands.handlePendingCommand");
    expect(answered).toHaveLength(2);
  });

  test("plans, model switches, system message sections and tokens are answered", async () => {
    await using app = await world({
      onExitPlanModeRequest: ({ actions }) => ({ approved: true, selectedAction: actions[0] ?? "" }),
      onAutoModeSwitchRequest: () => "yes",
      systemMessage: {
        mode: "customize",
        sections: { tone: { action: async (text) => text.toUpperCase() }, safety: { action: () => raise("kept") } },
      },
      provider: { baseUrl: "http://x", bearerTokenProvider: ({ providerName }) => `token of ${providerName}` },
      gitHubTokenProvider: ({ host, reason }) => ({ kind: "token", accessToken: `${host} ${reason}`, expiresIn: 1 }),
    });
    const ask = (method: string, params: object) => app.runtime.request(method, { sessionId: "s", ...params });
    const plan = { summary: "p", actions: ["interactive"], recommendedAction: "interactive" };
    expect(await ask("exitPlanMode.request", plan)).toEqual({ approved: true, selectedAction: "interactive" });
    expect(await ask("autoModeSwitch.request", {})).toEqual({ response: "yes" });
    const sections = { tone: { content: "calm" }, safety: { content: "safe" }, other: { content: "as is" } };
    expect(await ask("systemMessage.transform", { sections })).toEqual({
      sections: { tone: { content: "CALM" }, safety: { content: "safe" }, other: { content: "as is" } },
    });
    expect(await ask("providerToken.getToken", { providerName: "default" })).toEqual({ token: "token of default" });
    await expect(ask("providerToken.getToken", { providerName: "x" })).rejects.toThrow("no token for the provider x");
    const registrationId = app.runtime.lastCall("session.create")?.gitHubTokenProviderRegistrationId;
    expect(await ask("gitHubToken.getToken", { registrationId, host: "h", reason: "refresh" })).toMatchObject({
      accessToken: "h refresh",
    });
    expect(await ask("gitHubToken.getToken", { registrationId: "other", host: "h" })).toEqual({ kind: "cancelled" });
  });

  test("a request that this client does not know is refused by name", async () => {
    await using app = await world({});
    await expect(app.runtime.request("canvas.open", {})).rejects.toThrow("Unhandled method canvas.open");
    await expect(app.runtime.request("toString", {})).rejects.toThrow("Unhandled method toString");
  });
});

function raise(message: string): never {
  throw new Error(message);
}
