/**
 * The runtime was killed and its host with it: a new host that resumes with `continuePendingWork` is offered every ask that was open,
 * by the events and requests that it listens to.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { type Endpoint, type ModelRequest, type ModelServer, startModelServer } from "../support/model-server.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk, resumeTalk, type Talk } from "../support/talk.ts";
import { spawnStdio, type Wire } from "../support/wire.ts";

const declared = { name: "probe", description: "Probes.", parameters: { type: "object" }, skipPermission: true };
const silent = () => new Promise<never>(() => undefined);

const delegate = (mode: "sync" | "background") =>
  call(
    "task",
    { agent_type: "general-purpose", name: "worker", description: "d", prompt: "do the worker's part", mode },
    "task-call",
  );

/** The main agent makes the call, or the sub-agent that it starts; whoever has a result or a notice says that it goes on. */
const asked = (who: "main" | "sync" | "background", asking: ReturnType<typeof call>) => (request: ModelRequest) => {
  const isWorker = request.texts("user").some((text) => text.includes("do the worker's part"));
  const isFirst = request.texts("tool").length === 0;
  if (!isFirst) return say("went on");
  return isWorker || who === "main" ? asking : delegate(who);
};

const nextProcess = (of: World, env: Record<string, string> = {}) =>
  startClient({ folders: of.folders, model: of.model, env });

const repeats = (talk: Talk, type: string) =>
  talk.record.events.filter((event) => event.type === type && "isRepeat" in event.data);

describe.runIf(ours)("a host that was gone", () => {
  test.each(["main", "sync", "background"] as const)("runs an open tool of the %s agent again", async (who) => {
    await using first = await startClient();
    const talk = await openTalk(first, { tools: [{ ...declared, handler: silent }] });
    talk.model.reply(asked(who, call("probe", { what: 1 }, "open-call")));
    await talk.session.send({ prompt: "probe" });
    const { requestId } = (await talk.record.until("external_tool.requested")).data;
    await first.kill();
    await using second = await nextProcess(first);
    const seen: unknown[] = [];
    const handler = (args: unknown) => {
      seen.push(args);
      return "probed at last";
    };
    const config = { tools: [{ ...declared, handler }], continuePendingWork: true };
    await using resumed = await resumeTalk(second, talk.session.sessionId, config, talk.model);
    await resumed.record.until("session.idle");
    expect(seen).toEqual([{ what: 1 }]);
    expect(talk.model.requests.flatMap((request) => request.texts("tool"))).toContain("probed at last");
    expect(repeats(resumed, "external_tool.requested").map(({ data }) => data)).toMatchObject([
      { requestId, toolCallId: "open-call", isRepeat: true, ...(who === "main" ? {} : { agentPathNames: ["worker"] }) },
    ]);
    const history = await resumed.session.getEvents();
    expect(history.filter(({ type }) => type === "external_tool.requested")).toHaveLength(1);
    expect(history.filter(({ type }) => type === "external_tool.completed")).toHaveLength(1);
  });

  test.each(["main", "sync", "background"] as const)("is asked for an open permission of the %s agent", async (who) => {
    await using first = await startClient();
    const talk = await openTalk(first, { onPermissionRequest: silent });
    talk.model.reply(asked(who, call("bash", { command: "echo granted > out", description: "x" })));
    await talk.session.send({ prompt: "try" });
    const { requestId } = (await talk.record.until("permission.requested")).data;
    await first.kill();
    await using second = await nextProcess(first);
    const config = { continuePendingWork: true };
    await using resumed = await resumeTalk(second, talk.session.sessionId, config, talk.model);
    await resumed.record.until("session.idle");
    expect(repeats(resumed, "permission.requested").map(({ data }) => data)).toMatchObject([{ requestId }]);
    const history = await resumed.session.getEvents();
    expect(history.filter(({ type }) => type === "permission.completed")).toMatchObject([
      { data: { requestId, result: { kind: "approved" } } },
    ]);
  });

  test.each(["main", "sync", "background"] as const)("is asked an open question of the %s agent", async (who) => {
    await using first = await startClient();
    const talk = await openTalk(first, { onUserInputRequest: silent });
    talk.model.reply(asked(who, call("ask_user", { question: "Which?" })));
    await talk.session.send({ prompt: "ask" });
    const { requestId } = (await talk.record.until("user_input.requested")).data;
    await first.kill();
    await using second = await nextProcess(first);
    const { questions, config } = personWhoSays("blue");
    await using resumed = await resumeTalk(second, talk.session.sessionId, config, talk.model);
    await resumed.record.until("session.idle");
    expect(questions).toEqual(["Which?"]);
    expect(resumed.record.one("user_input.requested").data).toMatchObject({ requestId, isRepeat: true });
    expect(talk.model.requests.flatMap((request) => request.texts("tool"))).toContain("User responded: blue");
  });

  test.each(["main", "sync", "background"] as const)("is shown an open form of the %s agent", async (who) => {
    await using first = await startClient();
    const form = { askUserVariant: "elicitation" as const, continuePendingWork: true };
    const talk = await openTalk(first, { ...form, onElicitationRequest: silent });
    const requestedSchema = { type: "object", properties: { region: { type: "string" } } };
    talk.model.reply(asked(who, call("ask_user", { message: "Where to?", requestedSchema })));
    await talk.session.send({ prompt: "ask" });
    const { requestId } = (await talk.record.until("elicitation.requested")).data;
    await first.kill();
    await using second = await nextProcess(first);
    const onElicitationRequest = () => ({ action: "accept" as const, content: { region: "us-east" } });
    const config = { ...form, onElicitationRequest };
    await using resumed = await resumeTalk(second, talk.session.sessionId, config, talk.model);
    await resumed.record.until("session.idle");
    expect(resumed.record.one("elicitation.requested").data).toMatchObject({ requestId, isRepeat: true });
    expect(talk.model.requests.flatMap((request) => request.texts("tool")).join()).toContain("us-east");
  });

  /** A host that goes on with what was open, and what its person was asked. */
  function personWhoSays(answer: string) {
    const questions: string[] = [];
    const config = {
      continuePendingWork: true,
      onUserInputRequest: ({ question }: { question: string }) => {
        questions.push(question);
        return { answer, wasFreeform: true };
      },
    };
    return { questions, config };
  }

  describe("an open permission, answered or not before its agent is back", () => {
    /** The agent is held up in a hook of the new host, until `goOn`. */
    async function resumedInHook(first: World, decision?: "deny") {
      const talk = await openTalk(first, { onPermissionRequest: silent });
      talk.model.script(call("bash", { command: "echo hi > out", description: "x" }), say("went on"));
      await talk.session.send({ prompt: "try" });
      const { requestId } = (await talk.record.until("permission.requested")).data;
      await first.kill();
      const second = await nextProcess(first);
      let goOn = () => {};
      const held = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const onPreToolUse = async () => {
        await held;
        return decision && { permissionDecision: decision };
      };
      const config = { continuePendingWork: true, onPermissionRequest: silent, hooks: { onPreToolUse } };
      const resumed = await resumeTalk(second, talk.session.sessionId, config, talk.model);
      const end = async () => {
        goOn();
        await resumed.record.until("session.idle");
        const events = await resumed.session.getEvents();
        const ends = events.filter(({ type }) => type === "permission.completed").map(({ data }) => data);
        const [result] = events.filter(({ type }) => type === "tool.execution_complete").map(({ data }) => data);
        await second[Symbol.asyncDispose]();
        return { ends, result };
      };
      return { requestId, permissions: resumed.session.rpc.permissions, end };
    }

    test("is refused when a person has refused it, though the rules allow it by now", async () => {
      await using first = await startClient();
      const { requestId, permissions, end } = await resumedInHook(first);
      const answer = { requestId, result: { kind: "reject" as const, feedback: "never" } };
      expect(await permissions.handlePendingPermissionRequest(answer)).toMatchObject({ success: true });
      await permissions.setApproveAll({ enabled: true });
      const { ends, result } = await end();
      expect(ends).toMatchObject([{ requestId, result: { kind: "denied-interactively-by-user" } }]);
      expect(result).toMatchObject({ success: false });
    });

    test("has one end when the rules allow it by now", async () => {
      await using first = await startClient();
      const { requestId, permissions, end } = await resumedInHook(first);
      await permissions.setApproveAll({ enabled: true });
      const { ends, result } = await end();
      expect(ends).toMatchObject([{ requestId, result: { kind: "approved" } }]);
      expect(result).toMatchObject({ success: true });
    });

    test("has one end when a hook denies its call", async () => {
      await using first = await startClient();
      const { requestId, end } = await resumedInHook(first, "deny");
      const { ends, result } = await end();
      expect(ends).toMatchObject([{ requestId, result: { kind: "cancelled" } }]);
      expect(result).toMatchObject({ success: false });
    });
  });

  test("an answer to a question that was taken before the crash is not asked for again", async () => {
    await using first = await startClient();
    const hooks = { onPostToolUse: silent }; // The call cannot end before the kill.
    const talk = await openTalk(first, { onUserInputRequest: silent, hooks });
    talk.model.script(call("ask_user", { question: "Which?" }), say("went on"));
    await talk.session.send({ prompt: "ask" });
    const { requestId } = (await talk.record.until("user_input.requested")).data;
    const response = { answer: "green", wasFreeform: true };
    const { success } = await talk.session.rpc.ui.handlePendingUserInput({ requestId, response });
    await first.kill();
    await using second = await nextProcess(first);
    const { questions, config } = personWhoSays("red");
    await using resumed = await resumeTalk(second, talk.session.sessionId, config, talk.model);
    await resumed.record.until("session.idle");
    expect({ success, questions }).toEqual({ success: true, questions: [] });
    expect(talk.model.lastRequest.texts("tool")).toEqual(["User responded: green"]);
  });

  test("without the tool it can answer by hand, and the model is not told that the tool does not exist", async () => {
    await using first = await startClient();
    const talk = await openTalk(first, { tools: [{ ...declared, handler: silent }] });
    talk.model.reply(asked("background", call("probe", {}, "open-call")));
    await talk.session.send({ prompt: "probe" });
    const { requestId } = (await talk.record.until("external_tool.requested")).data;
    await first.kill();
    await using second = await nextProcess(first);
    await using resumed = await resumeTalk(second, talk.session.sessionId, { continuePendingWork: true }, talk.model);
    await resumed.record.until("external_tool.requested");
    const answer = { requestId, result: "answered by hand" };
    expect(await resumed.session.rpc.tools.handlePendingToolCall(answer)).toEqual({ success: true });
    await resumed.record.until("session.idle");
    expect(talk.model.requests.flatMap((request) => request.texts("tool"))).toContain("answered by hand");
  });

  test.each([
    ["wait:1", "outcome is unknown"],
    ["deny", "outcome is unknown"],
    ["rules", "outcome is unknown"],
  ])("without the tool the call ends as the policy %s says", async (policy, words) => {
    await using first = await startClient();
    const talk = await openTalk(first, { tools: [{ ...declared, handler: silent }] });
    talk.model.reply(asked("main", call("probe", {}, "open-call")));
    await talk.session.send({ prompt: "probe" });
    const { requestId } = (await talk.record.until("external_tool.requested")).data;
    await first.kill();
    await using second = await nextProcess(first, { RETINUE_UNATTENDED: policy });
    await using resumed = await resumeTalk(second, talk.session.sessionId, { continuePendingWork: true }, talk.model);
    await resumed.record.until("session.idle");
    expect(talk.model.lastRequest.texts("tool")[0]).toContain(words);
    const late = await resumed.session.rpc.tools.handlePendingToolCall({ requestId, result: "late" });
    expect(late).toEqual({ success: false });
    const [end] = (await resumed.session.getEvents()).filter(({ type }) => type === "tool.execution_complete");
    expect(end?.data).toMatchObject({ success: false, error: { message: "outcome unknown" } });
  });

  test.each(["tool", "permission"] as const)(
    "that does not continue pending work finds the background agent that waited for its %s lost, and is told once",
    async (kind) => {
      await using first = await startClient();
      const config = { tools: [{ ...declared, handler: silent }], onPermissionRequest: silent };
      const talk = await openTalk(first, config);
      const asking = kind === "tool" ? call("probe") : call("bash", { command: "echo x > out", description: "x" });
      talk.model.reply(asked("background", asking));
      await talk.session.send({ prompt: "probe" });
      await talk.record.until(kind === "tool" ? "external_tool.requested" : "permission.requested");
      await first.kill();
      await using second = await nextProcess(first);
      await using resumed = await resumeTalk(second, talk.session.sessionId, config, talk.model);
      await resumed.record.until("session.idle");
      const history = await resumed.session.getEvents();
      expect(history.filter(({ type }) => type === "subagent.failed")).toMatchObject([{ data: { reason: "lost" } }]);
      expect(history.filter(({ type }) => type === "system.notification")).toHaveLength(1);
      const { tasks } = await resumed.session.rpc.tasks.list();
      expect(tasks.map(({ status }) => status)).toEqual(["failed"]);
      expect(await resumed.ask("and now?")).toBe("went on");
    },
  );
});

test.runIf(ours)(
  "a lead whose background worker waited for the host is told once that it is lost, and goes on",
  async () => {
    await using model = await startModelServer();
    const endpoint = model.endpoint().reply((request) => {
      const prompts = request.texts("user").join("\n");
      const start = (name: string, agent_type: string) =>
        call("task", { agent_type, name, description: "d", prompt: `do the part of the ${name}`, mode: "background" });
      if (request.texts("tool").length > 0) return say(prompts.includes("failed") ? "went on without it" : "waiting");
      if (prompts.includes("do the part of the worker")) return call("probe");
      return prompts.includes("do the part of the lead") ? start("worker", "general-purpose") : start("lead", "leader");
    });
    const config = {
      model: "m",
      tools: [declared],
      provider: { type: "openai", baseUrl: endpoint.url, apiKey: "k" },
      customAgents: [{ name: "leader", description: "Leads.", prompt: "Lead.", nestedBackground: true }],
    };
    await using first = await spawnStdio();
    await first.wire.request("connect", {});
    const { sessionId } = await first.wire.request("session.create", config);
    await first.wire.request("session.send", { sessionId, prompt: "go" });
    await first.wire.event("external_tool.requested");
    await first.wire.event(
      "assistant.message",
      ({ agentId, data }) => agentId !== undefined && data.content === "waiting",
    );
    await first.kill();
    await using second = await spawnStdio({ folders: first.folders });
    await second.wire.request("connect", {});
    await second.wire.request("session.resume", { ...config, sessionId });
    await second.wire.event("session.idle");
    const { events } = await second.wire.request("session.getMessages", { sessionId });
    const of = (type: string) => events.filter((event: { type: string }) => event.type === type);
    const [lead, worker] = of("subagent.started").map(({ agentId }: { agentId: string }) => agentId);
    expect(of("subagent.failed")).toMatchObject([{ agentId: worker, data: { reason: "lost" } }]);
    expect(of("subagent.completed")).toMatchObject([{ agentId: lead }]);
    expect(of("system.notification").filter(({ agentId }: { agentId?: string }) => agentId === lead)).toHaveLength(1);
  },
);

describe.runIf(ours)("a host of protocol 2 that was gone", () => {
  let model: ModelServer;
  beforeAll(async () => {
    model = await startModelServer();
  });
  afterAll(() => model[Symbol.asyncDispose]());

  const configOf = (endpoint: Endpoint) => ({
    model: "m",
    tools: [{ ...declared }],
    provider: { type: "openai", baseUrl: endpoint.url, apiKey: "k" },
    requestPermission: true,
    requestUserInput: true,
  });

  /** As SDK 0.1.30 does: it knows the session when the answer to its opening has come, and fails requests about others. */
  function answer(wire: Wire, method: string, result: unknown): void {
    wire.handle(method, () => {
      const isKnown = wire.messages.some((message) => message.result?.sessionId !== undefined);
      if (!isKnown) throw new Error("Session not found");
      return result;
    });
  }

  test.each([
    ["tool.call", call("probe", {}, "open-call"), { result: "probed at last" }, { toolCallId: "open-call" }],
    [
      "permission.request",
      call("bash", { command: "echo hi > out", description: "x" }),
      { result: { kind: "approved" } },
      {},
    ],
    ["userInput.request", call("ask_user", { question: "Which?" }), { answer: "blue", wasFreeform: true }, {}],
  ] as const)(
    "is sent %s of a sub-agent again, marked as a repeat, when it knows the session",
    async (method, asking, result, more) => {
      await using first = await spawnStdio();
      const endpoint = model.endpoint().reply(asked("background", asking));
      first.wire.handle(method, silent);
      await first.wire.request("ping", {});
      const { sessionId } = await first.wire.request("session.create", configOf(endpoint));
      await first.wire.request("session.send", { sessionId, prompt: "go" });
      await first.wire.until((message) => message.method === method);
      await first.kill();
      await using second = await spawnStdio({ folders: first.folders });
      answer(second.wire, method, result);
      await second.wire.request("ping", {});
      await second.wire.request("session.resume", { ...configOf(endpoint), sessionId, continuePendingWork: true });
      await second.wire.event("session.idle");
      const requests = second.wire.messages.filter((message) => message.method === method);
      expect(requests.map(({ params }) => params)).toMatchObject([
        {
          sessionId,
          ...more,
          isRepeat: true,
          requestId: expect.any(String),
          agentId: expect.any(String),
          agentName: "general-purpose",
          agentPathNames: ["worker"],
        },
      ]);
    },
  );
});
