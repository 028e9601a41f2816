/** Clients that come and go while something is asked: every open ask of the tree finds one that can answer it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { type Endpoint, type ModelRequest, type ModelServer, startModelServer } from "../support/model-server.ts";
import { ours } from "../support/runtime.ts";
import { startServer } from "../support/server.ts";
import { openTalk, resumeTalk } from "../support/talk.ts";
import { spawnTcp, type Wire } from "../support/wire.ts";

const declared = { name: "probe", description: "Probes.", parameters: { type: "object" }, skipPermission: true };
const silent = () => new Promise<never>(() => undefined);
const form = { message: "Where to?", requestedSchema: { type: "object", properties: { region: { type: "string" } } } };

/** The main agent starts a lead, the lead a worker, and the worker makes the call. */
const inDepth = (asking: ReturnType<typeof call>) => (request: ModelRequest) => {
  const prompts = request.texts("user").join("\n");
  const delegate = (name: string) =>
    call("task", { agent_type: "general-purpose", name, description: "d", prompt: `do the part of the ${name}` });
  if (request.texts("tool").length > 0) return say("done");
  if (prompts.includes("do the part of the worker")) return asking;
  return prompts.includes("do the part of the lead") ? delegate("worker") : delegate("lead");
};

describe.runIf(ours)("a client that joins while something is asked that another client has seen", () => {
  test("is offered a host tool of a grandchild, and its answer counts", async () => {
    await using server = await startServer();
    const [one, two] = [await server.join(), await server.join()];
    const talk = await openTalk(one, { tools: [{ ...declared, handler: silent }] });
    talk.model.reply(inDepth(call("probe", {}, "open-call")));
    await talk.session.send({ prompt: "go" });
    const { requestId } = (await talk.record.until("external_tool.requested")).data;
    const tools = [{ ...declared, handler: () => "from the late client" }];
    const late = await resumeTalk(two, talk.session.sessionId, { tools }, talk.model);
    await talk.record.until("session.idle");
    expect(late.record.one("external_tool.requested").data).toMatchObject({
      requestId,
      isRepeat: true,
      agentPathNames: ["lead", "worker"],
    });
    expect(talk.record.all("external_tool.requested")).toHaveLength(1);
    expect(talk.model.requests.flatMap((request) => request.texts("tool"))).toContain("from the late client");
  });

  test("is asked for a permission, and the first client is not asked twice", async () => {
    await using server = await startServer();
    const [one, two] = [await server.join(), await server.join()];
    const asked: string[] = [];
    const talk = await openTalk(one, {
      onPermissionRequest: ({ kind }) => {
        asked.push(kind);
        return silent();
      },
    });
    talk.model.reply(inDepth(call("bash", { command: "echo hi > out", description: "x" })));
    await talk.session.send({ prompt: "go" });
    await talk.record.until("permission.requested");
    const late = await resumeTalk(two, talk.session.sessionId, {}, talk.model);
    await talk.record.until("session.idle");
    expect(late.record.one("permission.requested").data).toMatchObject({ isRepeat: true });
    expect(asked).toEqual(["shell"]);
  });

  test("is asked a question", async () => {
    await using server = await startServer();
    const [one, two] = [await server.join(), await server.join()];
    const talk = await openTalk(one, { onUserInputRequest: silent });
    talk.model.reply(inDepth(call("ask_user", { question: "Which?" })));
    await talk.session.send({ prompt: "go" });
    await talk.record.until("user_input.requested");
    const onUserInputRequest = () => ({ answer: "blue", wasFreeform: true });
    await resumeTalk(two, talk.session.sessionId, { onUserInputRequest }, talk.model);
    await talk.record.until("session.idle");
    expect(talk.model.requests.flatMap((request) => request.texts("tool"))).toContain("User responded: blue");
  });

  test("is shown a form", async () => {
    await using server = await startServer();
    const [one, two] = [await server.join(), await server.join()];
    const askUserVariant = "elicitation" as const;
    const talk = await openTalk(one, { askUserVariant, onElicitationRequest: silent });
    talk.model.reply(inDepth(call("ask_user", form)));
    await talk.session.send({ prompt: "go" });
    await talk.record.until("elicitation.requested");
    const onElicitationRequest = () => ({ action: "accept" as const, content: { region: "us-east" } });
    await resumeTalk(two, talk.session.sessionId, { askUserVariant, onElicitationRequest }, talk.model);
    await talk.record.until("session.idle");
    expect(talk.model.requests.flatMap((request) => request.texts("tool")).join()).toContain("us-east");
  });
});

describe.runIf(ours)("a client that leaves while its tool is asked", () => {
  test.each(["wait:1", "deny", "rules"])(
    "leaves the call to the policy %s when no other has the tool",
    async (policy) => {
      await using server = await startServer({ env: { RETINUE_UNATTENDED: policy } });
      const [one, two] = [await server.join(), await server.join()];
      const talk = await openTalk(one, { tools: [{ ...declared, handler: silent }] });
      talk.model.reply(inDepth(call("probe")));
      const other = await resumeTalk(two, talk.session.sessionId, {}, talk.model);
      await talk.session.send({ prompt: "go" });
      await talk.record.until("external_tool.requested");
      await talk.session.disconnect();
      await other.record.until("session.idle");
      expect(talk.model.requests.flatMap((request) => request.texts("tool")).join()).toContain("outcome is unknown");
    },
  );

  test("leaves it open for the next client that has the tool, where the policy is to wait", async () => {
    await using server = await startServer();
    const [one, two, three] = [await server.join(), await server.join(), await server.join()];
    const talk = await openTalk(one, { tools: [{ ...declared, handler: silent }] });
    talk.model.reply(inDepth(call("probe")));
    const other = await resumeTalk(two, talk.session.sessionId, {}, talk.model);
    await talk.session.send({ prompt: "go" });
    await talk.record.until("external_tool.requested");
    await talk.session.disconnect();
    const tools = [{ ...declared, handler: () => "from the next" }];
    await resumeTalk(three, talk.session.sessionId, { tools }, talk.model);
    await other.record.until("session.idle");
    expect(talk.model.requests.flatMap((request) => request.texts("tool"))).toContain("from the next");
  });
});

describe.runIf(ours)("on the wire", () => {
  let model: ModelServer;
  beforeAll(async () => {
    model = await startModelServer();
  });
  afterAll(() => model[Symbol.asyncDispose]());

  const configOf = (endpoint: Endpoint, more: object = {}) => ({
    model: "m",
    tools: [declared],
    provider: { type: "openai", baseUrl: endpoint.url, apiKey: "k" },
    requestPermission: true,
    requestUserInput: true,
    ...more,
  });
  const hello = { 2: "ping", 3: "connect" } as const;
  const inRequest = (wire: Wire, method: string) => wire.until((message) => message.method === method);

  test.each([
    [2, "tool.call", call("probe")],
    [2, "permission.request", call("bash", { command: "echo hi > out", description: "x" })],
    [2, "userInput.request", call("ask_user", { question: "Which?" })],
    [3, "userInput.request", call("ask_user", { question: "Which?" })],
  ] as const)("a client of protocol %i reads in %s which sub-agent asks", async (version, method, asking) => {
    await using runtime = await spawnTcp();
    const wire = await runtime.open();
    const endpoint = model.endpoint().reply(inDepth(asking));
    await wire.request(hello[version], {});
    const { sessionId } = await wire.request("session.create", configOf(endpoint));
    await wire.request("session.send", { sessionId, prompt: "go" });
    const { params } = await inRequest(wire, method);
    expect(params).toMatchObject({
      sessionId,
      agentId: expect.any(String),
      agentName: "general-purpose",
      agentPath: [expect.any(String), params.agentId],
      agentPathNames: ["lead", "worker"],
    });
    expect(params).not.toHaveProperty("isRepeat");
  });

  test.each([2, 3] as const)(
    "a client of protocol %i reads in the event of a form which sub-agent asks",
    async (version) => {
      await using runtime = await spawnTcp();
      const wire = await runtime.open();
      const endpoint = model.endpoint().reply(inDepth(call("ask_user", form)));
      await wire.request(hello[version], {});
      const more = { askUserVariant: "elicitation", requestElicitation: true };
      const { sessionId } = await wire.request("session.create", configOf(endpoint, more));
      await wire.request("session.send", { sessionId, prompt: "go" });
      expect((await wire.event("elicitation.requested")).data).toMatchObject({
        agentId: expect.any(String),
        agentName: "general-purpose",
        agentPathNames: ["lead", "worker"],
      });
    },
  );

  test("a tool goes from a client of protocol 2 that leaves to another one that has it, once", async () => {
    await using runtime = await spawnTcp();
    const wires = [await runtime.open(), await runtime.open()] as const;
    const [first, second] = wires;
    const endpoint = model.endpoint().reply(inDepth(call("probe")));
    for (const wire of wires) await wire.request("ping", {});
    first.handle("tool.call", silent);
    second.handle("tool.call", () => ({ result: "from the other" }));
    const { sessionId } = await first.request("session.create", configOf(endpoint));
    await second.request("session.resume", { ...configOf(endpoint, { tools: [] }), sessionId });
    await first.request("session.send", { sessionId, prompt: "go" });
    await inRequest(first, "tool.call");
    first.end();
    await second.request("session.resume", { ...configOf(endpoint), sessionId });
    await second.event("session.idle");
    expect(endpoint.requests.flatMap((request) => request.texts("tool"))).toContain("from the other");
    expect(second.messages.filter(({ method }) => method === "tool.call")).toMatchObject([
      { params: { isRepeat: true } },
    ]);
  });

  test("a client that gets the tool later is offered the call then", async () => {
    await using runtime = await spawnTcp();
    const wires = [await runtime.open(), await runtime.open()] as const;
    const [first, second] = wires;
    const endpoint = model.endpoint().reply(inDepth(call("probe")));
    for (const wire of wires) await wire.request("connect", {});
    const { sessionId } = await first.request("session.create", configOf(endpoint));
    await second.request("session.resume", { ...configOf(endpoint, { tools: [] }), sessionId });
    await first.request("session.send", { sessionId, prompt: "go" });
    await second.event("external_tool.requested");
    await first.request("session.detach", { sessionId });
    await second.request("session.tools.set", { sessionId, tools: [declared] });
    const { data } = await second.event("external_tool.requested", ({ data }) => data.isRepeat === true);
    const answer = { sessionId, requestId: data.requestId, result: "from the one that learned it" };
    expect(await second.request("session.tools.handlePendingToolCall", answer)).toEqual({ success: true });
    await second.event("session.idle");
    expect(endpoint.requests.flatMap((request) => request.texts("tool"))).toContain("from the one that learned it");
  });

  test("a session says its policy itself, and one that is misspelt is refused", async () => {
    await using runtime = await spawnTcp();
    const wires = [await runtime.open(), await runtime.open()] as const;
    const [first, second] = wires;
    const endpoint = model.endpoint().reply(inDepth(call("probe")));
    for (const wire of wires) await wire.request("connect", {});
    const { error } = await first.answer("session.create", configOf(endpoint, { unattended: "never" }));
    expect(error?.message).toContain("unattended");
    const { sessionId } = await first.request("session.create", configOf(endpoint, { unattended: "deny" }));
    await second.request("session.resume", { ...configOf(endpoint, { tools: [] }), sessionId });
    await first.request("session.send", { sessionId, prompt: "go" });
    await first.event("external_tool.requested");
    await first.request("session.detach", { sessionId });
    await second.event("session.idle");
    expect(endpoint.requests.flatMap((request) => request.texts("tool")).join()).toContain("outcome is unknown");
  });
});
