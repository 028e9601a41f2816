/**
 * Clients of protocol version 2, as SDK 0.1.30 and 0.2.2 speak it: they open with `ping`, must get version 2 as the answer,
 * and are asked for tools and permissions by requests instead of events.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { type Endpoint, type ModelServer, startModelServer } from "../support/model-server.ts";
import { ours } from "../support/runtime.ts";
import { type Message, spawnStdio, spawnTcp, type Wire } from "../support/wire.ts";

// The other runtime refuses these clients by reporting version 3.
describe.runIf(ours)("protocol version 2", () => {
  let model: ModelServer;
  beforeAll(async () => {
    model = await startModelServer();
  });
  afterAll(() => model[Symbol.asyncDispose]());

  const schema = { type: "object", properties: {} };
  const tools = [
    { name: "my_tool", description: "t", parameters: schema },
    { name: "thrower", description: "t", parameters: schema },
  ];

  /** What SDK 0.1.30 sends with session.create, and with an id also what 0.2.2 sends. */
  const creation = (endpoint: Endpoint, more: object = {}) => ({
    model: "m",
    tools,
    provider: { type: "openai", baseUrl: endpoint.url, apiKey: "k" },
    requestPermission: true,
    requestUserInput: false,
    hooks: false,
    envValueMode: "direct",
    ...more,
  });

  const requests = (wire: Wire, method: string): Message[] =>
    wire.messages.filter((message) => message.method === method && message.id !== undefined);

  const approve = () => ({ result: { kind: "approved" } });
  const succeed = ({ arguments: args }: { arguments: unknown }) => ({
    result: { textResultForLlm: `got ${JSON.stringify(args)}`, resultType: "success", toolTelemetry: {} },
  });

  async function opened(wire: Wire): Promise<void> {
    expect(await wire.request("ping", {})).toMatchObject({ protocolVersion: 2 });
  }

  test("a client that opens with ping is told version 2, and may leave the id of the session to the server", async () => {
    await using runtime = await spawnStdio();
    const { wire } = runtime;
    await opened(wire);
    const { sessionId } = await wire.request("session.create", creation(model.endpoint()));
    expect(sessionId).toMatch(/./);
    expect(await wire.request("session.send", { sessionId, prompt: "hello" })).toMatchObject({
      messageId: expect.any(String),
    });
    expect((await wire.event("assistant.message")).data.content).toBe("ok");
    await wire.event("session.idle");
    expect(await wire.request("session.destroy", { sessionId })).toMatchObject({ success: true });
  });

  test("a permission and a tool are asked for by requests, once each, in that order", async () => {
    await using runtime = await spawnStdio();
    const { wire } = runtime;
    const endpoint = model.endpoint().script(call("my_tool", { x: 1 }, "tc1"), say("done"));
    wire.handle("permission.request", approve);
    wire.handle("tool.call", succeed);
    await opened(wire);
    const { sessionId } = await wire.request("session.create", creation(endpoint, { sessionId: "chosen-by-client" }));
    expect(sessionId).toBe("chosen-by-client");
    await wire.request("session.send", { sessionId, prompt: "hello" });
    await wire.event("session.idle");
    expect(requests(wire, "permission.request").map(({ params }) => params)).toMatchObject([
      { sessionId, permissionRequest: { kind: "custom-tool", toolCallId: "tc1", toolName: "my_tool", args: { x: 1 } } },
    ]);
    expect(requests(wire, "tool.call").map(({ params }) => params)).toEqual([
      { sessionId, toolCallId: "tc1", toolName: "my_tool", arguments: { x: 1 } },
    ]);
    const order = wire.messages.map(({ method }) => method);
    expect(order.indexOf("permission.request")).toBeLessThan(order.indexOf("tool.call"));
    expect(endpoint.lastRequest.texts("tool")).toEqual(['got {"x":1}']);
    // SDK 0.2.2 also knows the events of version 3: with both, it would ask its handlers twice.
    const told = wire.messages.flatMap(({ params }) => (params?.event ? [String(params.event.type)] : []));
    expect(told.filter((type) => /^(permission|external_tool)\./.test(type))).toEqual([]);
  });

  test("a tool that failed in the client is told to the model in the client's safe words", async () => {
    await using runtime = await spawnStdio();
    const { wire } = runtime;
    const endpoint = model.endpoint().script(call("thrower", {}, "tc2"), say("went on"));
    const failure = { textResultForLlm: "It did not work.", resultType: "failure", error: "secret", toolTelemetry: {} };
    wire.handle("permission.request", approve);
    wire.handle("tool.call", () => ({ result: failure }));
    await opened(wire);
    const { sessionId } = await wire.request("session.create", creation(endpoint));
    await wire.request("session.send", { sessionId, prompt: "hello" });
    expect((await wire.event("tool.execution_complete")).data).toMatchObject({ success: false });
    await wire.event("session.idle");
    expect(endpoint.lastRequest.texts("tool")).toEqual(["It did not work."]);
  });

  test.each([
    "denied-interactively-by-user",
    "denied-by-rules",
    "denied-no-approval-rule-and-could-not-request-from-user",
  ])("the answer %s keeps the tool from running", async (kind) => {
    await using runtime = await spawnStdio();
    const { wire } = runtime;
    const endpoint = model.endpoint().script(call("my_tool", {}), say("went on"));
    wire.handle("permission.request", () => ({ result: { kind } }));
    wire.handle("tool.call", succeed);
    await opened(wire);
    const { sessionId } = await wire.request("session.create", creation(endpoint));
    await wire.request("session.send", { sessionId, prompt: "hello" });
    expect((await wire.event("tool.execution_complete")).data).toMatchObject({ success: false });
    await wire.event("session.idle");
    expect(requests(wire, "tool.call")).toEqual([]);
  });

  test("a client that answers a request with an error does not break the session", async () => {
    await using runtime = await spawnStdio();
    const { wire } = runtime;
    const endpoint = model.endpoint().script(call("my_tool", {}), say("went on"));
    const broken = () => {
      throw new Error("handler broke");
    };
    wire.handle("permission.request", approve);
    wire.handle("tool.call", broken);
    await opened(wire);
    const { sessionId } = await wire.request("session.create", creation(endpoint));
    await wire.request("session.send", { sessionId, prompt: "hello" });
    await wire.event("session.idle");
    expect((await wire.event("assistant.message", ({ data }) => data.content !== "")).data.content).toBe("went on");
  });

  test("built-in tools, questions and hooks work as for newer clients", async () => {
    await using runtime = await spawnStdio();
    const { wire } = runtime;
    const endpoint = model
      .endpoint()
      .script(
        call("bash", { command: "echo old but fine", description: "x" }),
        call("ask_user", { question: "Which?", choices: ["a", "b"] }),
        say("done"),
      );
    wire.handle("permission.request", approve);
    wire.handle("userInput.request", () => ({ answer: "a", wasFreeform: false }));
    wire.handle("hooks.invoke", () => ({}));
    await opened(wire);
    const create = creation(endpoint, { requestUserInput: true, hooks: true });
    const { sessionId } = await wire.request("session.create", create);
    await wire.request("session.send", { sessionId, prompt: "hello" });
    await wire.event("session.idle");
    const [bash, question] = endpoint.lastRequest.texts("tool");
    expect(bash).toContain("old but fine");
    expect(question).toBe("User selected: a");
    const hookTypes = requests(wire, "hooks.invoke").map(({ params }) => params.hookType);
    expect(hookTypes).toEqual(expect.arrayContaining(["userPromptSubmitted", "preToolUse", "postToolUse"]));
  });

  test("an old and a new client are served side by side, each in its own style", async () => {
    await using runtime = await spawnTcp();
    const [old, recent] = [await runtime.open(), await runtime.open()];
    const endpoints = [model.endpoint(), model.endpoint()] as const;
    for (const endpoint of endpoints) endpoint.script(call("my_tool", { x: 1 }), say("done"));
    old.handle("permission.request", approve);
    old.handle("tool.call", succeed);
    await opened(old);
    expect(await recent.request("connect", {})).toMatchObject({ protocolVersion: 3 });
    expect(await recent.request("ping", {})).toMatchObject({ protocolVersion: 3 });
    const skip = { tools: tools.map((tool) => ({ ...tool, skipPermission: true })) };
    const [first, second] = [
      await old.request("session.create", creation(endpoints[0])),
      await recent.request("session.create", creation(endpoints[1], skip)),
    ];
    await old.request("session.send", { sessionId: first.sessionId, prompt: "hello" });
    await recent.request("session.send", { sessionId: second.sessionId, prompt: "hello" });
    const { data } = await recent.event("external_tool.requested");
    const answer = { sessionId: second.sessionId, requestId: data.requestId, result: "by event" };
    expect(await recent.request("session.tools.handlePendingToolCall", answer)).toEqual({ success: true });
    await Promise.all([old.event("session.idle"), recent.event("session.idle")]);
    expect(requests(recent, "tool.call")).toEqual([]);
    expect(endpoints.map((endpoint) => endpoint.lastRequest.texts("tool"))).toEqual([['got {"x":1}'], ["by event"]]);
  });
});
