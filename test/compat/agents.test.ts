/** Sub-agents as a client of the official SDK sees them: the task tool, their events, asks and host tools, and the tasks calls. */
import type { CustomAgentConfig } from "@github/copilot-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, calls, hang, type MessageAnswer, say } from "../support/model-answers.ts";
import type { ModelRequest } from "../support/model-server.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const task = (more: object = {}) => ({
  name: "task",
  args: {
    name: "helper",
    agent_type: "general-purpose",
    description: "Help",
    prompt: "CHILD do it",
    mode: "sync",
    ...more,
  },
  id: "task-1",
});

const probe = (handler: () => unknown = () => "probed") => ({
  name: "probe",
  description: "Probes.",
  parameters: { type: "object" },
  handler,
});

/** A child is known by its prompt, the first user message that it was ever sent. */
const isChild = (request: ModelRequest) => request.texts("user")[0]?.includes("CHILD") ?? false;

/** The main agent follows its own script and every child the other one. */
function scripts(
  main: MessageAnswer[],
  child: (request: ModelRequest) => ReturnType<typeof say> | ReturnType<typeof hang>,
) {
  let at = 0;
  return (request: ModelRequest) => (isChild(request) ? child(request) : (main[at++] ?? say("ok")));
}

test("a sync sub-agent works in a conversation of its own and its last words are the result", async () => {
  await using talk = await openTalk(world);
  talk.model.reply(scripts([calls([task()]), say("thanks")], () => say("child is done")));
  expect(await talk.ask("delegate")).toBe("thanks");
  const child = talk.model.requests.find(isChild);
  expect(child?.texts("user")).toHaveLength(1);
  // Ours puts an inherit block before the child's prompt; another runtime does not.
  const [prompt = ""] = child?.texts("user") ?? [];
  expect(prompt.includes("## Inherited from Parent Session")).toBe(ours);
  expect(prompt.includes("delegate")).toBe(ours);
  expect(talk.model.lastRequest.texts("tool")).toEqual(["child is done"]);
});

test("the events of a sub-agent carry its id and those of the main agent carry none", async () => {
  await using talk = await openTalk(world);
  talk.model.reply(scripts([calls([task()]), say("thanks")], () => say("child is done")));
  await talk.ask("delegate");
  const started = talk.record.one("subagent.started");
  expect(started.data).toMatchObject({ toolCallId: "task-1", agentName: "general-purpose" });
  const { agentId } = started;
  expect(agentId).toBeTruthy();
  await talk.record.until("subagent.completed", { passes: (event) => event.agentId === agentId });
  const said = talk.record.all("assistant.message").filter((event) => event.data.content !== "");
  expect(said.map((event) => [event.agentId === agentId, event.data.content]).sort()).toEqual([
    [false, "thanks"],
    [true, "child is done"],
  ]);
  expect(talk.record.all("session.idle")).toHaveLength(1);
});

test("a host tool and a permission ask of a sub-agent reach the client of the session", async () => {
  let ran = 0;
  await using talk = await openTalk(world, { tools: [probe(() => `probed ${++ran}`)] });
  const child = (request: ModelRequest) =>
    request.last?.role === "tool" ? say(`child saw ${request.lastText}`) : call("probe", {}, "child-call");
  talk.model.reply(scripts([calls([task()]), say("thanks")], child));
  await talk.ask("delegate");
  expect(talk.model.lastRequest.texts("tool")[0]).toMatch(/^child saw probed \d+$/);
  expect(talk.record.one("permission.requested").data.permissionRequest).toMatchObject({ toolCallId: "child-call" });
});

test("a custom agent has its own prompt, model and tools", async () => {
  const agent: CustomAgentConfig = {
    name: "librarian",
    displayName: "Librarian",
    description: "Knows where things are",
    prompt: "You are a librarian.",
    tools: ["view", "probe"],
    model: "small-model",
  };
  await using talk = await openTalk(world, { customAgents: [agent], tools: [probe()] });
  talk.model.reply(scripts([calls([task({ agent_type: "librarian" })]), say("thanks")], () => say("found")));
  await talk.ask("delegate");
  const child = talk.model.requests.find(isChild);
  expect(child?.system).toContain("You are a librarian.");
  expect(child?.body.model).toBe("small-model");
  expect(child?.toolNames.sort()).toEqual(["probe", "view"]);
  const offered = talk.model.requests[0]?.body.tools?.find(({ function: { name } }) => name === "task");
  expect(JSON.stringify(offered)).toContain("librarian");
});

test("sub-agents that are started in one answer run at the same time", async () => {
  await using talk = await openTalk(world);
  const children = () => talk.model.requests.filter(isChild).length;
  const three = ["a", "b", "c"].map((id) => ({ ...task({ name: id }), id }));
  let release = () => {};
  const all = new Promise<void>((resolve) => {
    release = resolve;
  });
  const answers = scripts([calls(three), say("thanks")], () => say("child is done"));
  talk.model.reply(async (request) => {
    if (isChild(request)) {
      if (children() === 3) release();
      await all;
    }
    return answers(request);
  });
  expect(await talk.ask("delegate")).toBe("thanks");
  expect(talk.record.all("subagent.started")).toHaveLength(3);
});

test("an unknown kind of agent is an error that names the known ones", async () => {
  await using talk = await openTalk(world);
  talk.model.script(calls([task({ agent_type: "wizard" })]), say("went on"));
  expect(await talk.ask("delegate")).toBe("went on");
  const { error } = talk.record.one("tool.execution_complete").data;
  expect(error?.message).toMatch(/Unknown agent_type: wizard\. Valid types are: .*general-purpose/);
  const failed = talk.record.all("subagent.failed").map(({ data }) => [data.agentName, data.error]);
  expect(failed).toEqual(ours ? [["wizard", error?.message]] : []); // The other runtime tells the model alone.
});

test("a background agent answers at once, and its end is told to the model and wakes the session", async () => {
  await using talk = await openTalk(world);
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const answers = scripts(
    [calls([task({ mode: "background" })]), say("it is running"), say("and now it is done")],
    () => say("child is done"),
  );
  talk.model.reply(async (request) => {
    if (isChild(request)) await held;
    return answers(request);
  });
  await talk.session.send({ prompt: "delegate" });
  await talk.record.until("assistant.message", { passes: ({ data }) => data.content === "it is running" });
  expect(talk.record.all("session.idle")).toEqual([]);
  const started = await talk.record.until("subagent.started");
  expect(talk.record.one("tool.execution_complete").data.result?.content).toContain(`agent_id: ${started.agentId}`);
  release();
  await talk.record.until("session.idle");
  expect(talk.record.one("system.notification").data.kind).toMatchObject({ agentId: started.agentId });
  expect(talk.model.lastRequest.lastText).toContain("<system_notification>");
  expect(talk.record.all("session.idle")).toHaveLength(1);
});

test("a background agent can be listed, asked again, cancelled and removed by the host", async () => {
  await using talk = await openTalk(world);
  talk.model.reply((request) => (isChild(request) ? say(`child: ${request.lastText}`) : say("noted")));
  const { tasks } = talk.session.rpc;
  const { agentId } = await tasks.startAgent({ agentType: "general-purpose", prompt: "CHILD do it", name: "helper" });
  await expect.poll(async () => (await tasks.list()).tasks.map(({ status }) => status)).toEqual(["idle"]);
  expect((await tasks.list()).tasks).toMatchObject([{ type: "agent", id: agentId, executionMode: "background" }]);
  expect(await tasks.sendMessage({ id: agentId, message: "and more" })).toMatchObject({ sent: true });
  await expect.poll(() => talk.model.requests.filter(isChild).length).toBe(2);
  expect(talk.model.requests.filter(isChild).at(-1)?.lastText).toContain("and more");
  await expect.poll(async () => (await tasks.list()).tasks[0]?.status).toBe("idle");
  expect(await tasks.cancel({ id: agentId })).toEqual({ cancelled: true });
  expect(await tasks.remove({ id: agentId })).toEqual({ removed: true });
  expect((await tasks.list()).tasks).toEqual([]);
  expect(await tasks.cancel({ id: agentId })).toEqual({ cancelled: false });
});

test("abort cancels a running sub-agent together with the run", async () => {
  await using talk = await openTalk(world);
  talk.model.reply(scripts([calls([task()])], () => hang()));
  await talk.session.send({ prompt: "delegate" });
  await talk.model.asked(2);
  await talk.session.abort();
  expect((await talk.record.until("session.idle")).data.aborted).toBe(true);
  await expect
    .poll(async () => (await talk.session.rpc.tasks.list()).tasks.filter(({ status }) => status === "running"))
    .toEqual([]);
});

test("an agent can be selected for the main conversation and left again", async () => {
  const agent: CustomAgentConfig = {
    name: "poet",
    displayName: "Poet",
    description: "Rhymes",
    prompt: "You are a poet.",
    tools: ["view"],
  };
  await using talk = await openTalk(world, { customAgents: [agent] });
  const { agent: agents } = talk.session.rpc;
  expect((await agents.list()).agents).toMatchObject([{ name: "poet", displayName: "Poet" }]);
  expect(await agents.getCurrent()).toMatchObject({ agent: null });
  expect(await agents.select({ name: "poet" })).toMatchObject({ agent: { name: "poet" } });
  const selected = await talk.record.until("subagent.selected");
  expect(selected).toMatchObject({ data: { agentName: "poet" } });
  expect(selected.agentId).toBeUndefined();
  await talk.ask("hi");
  expect(talk.model.lastRequest.system).toContain("You are a poet.");
  expect(talk.model.lastRequest.toolNames).toContain("view");
  expect(talk.model.lastRequest.toolNames).not.toContain("bash");
  await agents.deselect();
  await talk.record.until("subagent.deselected");
  await talk.ask("hi");
  expect(talk.model.lastRequest.system).not.toContain("You are a poet.");
  await expect(agents.select({ name: "nobody" })).rejects.toThrow(/Custom agent 'nobody' not found/);
});

test("an agent named at the creation is active from the start, and an unknown one is refused", async () => {
  const customAgents = [{ name: "poet", displayName: "Poet", description: "Rhymes", prompt: "You are a poet." }];
  await using talk = await openTalk(world, { customAgents, agent: "poet" });
  await talk.ask("hi");
  expect(talk.model.lastRequest.system).toContain("You are a poet.");
  await expect(openTalk(world, { customAgents, agent: "nobody" })).rejects.toThrow(/nobody/);
});

test.runIf(ours)(
  "an agent named at the creation is selected live, and before its own sub-agent is selected and starts",
  async () => {
    const prompted = { displayName: "", description: "Rhymes", prompt: "You are a poet." };
    const customAgents = [
      { ...prompted, name: "poet" },
      { ...prompted, name: "critic", prompt: "You are a critic." },
    ];
    await using talk = await openTalk(world, { customAgents, agent: "poet" });
    await talk.record.until("subagent.selected");
    talk.model.reply(scripts([calls([task({ agent_type: "critic" })]), say("thanks")], () => say("poor")));
    await talk.ask("delegate");
    const named = talk.record.events.flatMap((event) =>
      event.type === "subagent.selected" || event.type === "subagent.started"
        ? [[event.type, event.data.agentName, event.agentId !== undefined]]
        : [],
    );
    expect(named).toEqual([
      ["subagent.selected", "poet", false],
      ["subagent.selected", "critic", true],
      ["subagent.started", "critic", true],
    ]);
  },
);

test.runIf(ours)(
  "what a sub-agent reports as its intent is an event of it and the latest intent of its task",
  async () => {
    let progress: unknown;
    const look = async () => {
      const { agentId: id = "" } = talk.record.one("subagent.started");
      ({ progress } = await talk.session.rpc.tasks.getProgress({ id }));
      return "probed";
    };
    await using talk = await openTalk(world, { tools: [probe(look)] });
    const child = (request: ModelRequest) => {
      const steps = [call("report_intent", { intent: " Reading\nthe tests " }), call("probe"), say("read")];
      return steps[request.texts("tool").length] ?? say("read");
    };
    talk.model.reply(scripts([calls([task()]), say("thanks")], child));
    expect(await talk.ask("delegate")).toBe("thanks");
    expect(progress).toMatchObject({ latestIntent: "Reading the tests" });
    const { agentId } = talk.record.one("subagent.started");
    expect(talk.record.all("assistant.intent")).toMatchObject([{ agentId, data: { intent: "Reading the tests" } }]);
  },
);

test("excluded built-in agents are not offered", async () => {
  await using talk = await openTalk(world, { excludedBuiltinAgents: ["explore"] });
  await talk.ask("hi");
  const offered = talk.model.lastRequest.body.tools?.find(({ function: { name } }) => name === "task");
  const { agent_type } = offered?.function.parameters.properties ?? {};
  expect(agent_type).toMatchObject({ enum: expect.not.arrayContaining(["explore"]) });
  expect(agent_type).toMatchObject({ enum: expect.arrayContaining(["general-purpose"]) });
});

test("a sub-agent whose model fails has failed, and the main agent is told", async () => {
  await using talk = await openTalk(world);
  const failing = { kind: "status" as const, status: 400, headers: {}, body: '{"error":{"message":"child broke"}}' };
  const main = scripts([calls([task()]), say("so it failed")], () => say(""));
  talk.model.reply((request) => (isChild(request) ? failing : main(request)));
  expect(await talk.ask("delegate")).toBe("so it failed");
  expect(talk.record.one("tool.execution_complete").data).toMatchObject({ success: false });
  expect((await talk.record.until("subagent.failed")).data.error).toContain("child broke");
});

test.runIf(ours)("a budget on the call ends a sub-agent that would go on, with what it has so far", async () => {
  await using talk = await openTalk(world);
  const answers = scripts([calls([task({ budget: { maxTurns: 2 } })]), say("noted")], () =>
    call("view", { path: "." }),
  );
  talk.model.reply(answers);
  expect(await talk.ask("delegate")).toBe("noted");
  expect(talk.record.one("subagent.failed").data).toMatchObject({ reason: "over_budget" });
  expect(talk.model.requests.filter(isChild)).toHaveLength(2); // The second was the one to wrap up, and its call did not run.
});
