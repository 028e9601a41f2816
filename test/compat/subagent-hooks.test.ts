/** The hooks around sub-agents, which the official SDK has no handlers for: raw wire. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { calls, type MessageAnswer, say, status } from "../support/model-answers.ts";
import { type ModelRequest, type ModelServer, startModelServer } from "../support/model-server.ts";
import { ours } from "../support/runtime.ts";
import { type Message, spawnStdio } from "../support/wire.ts";

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model[Symbol.asyncDispose]());

const args = {
  name: "helper",
  agent_type: "general-purpose",
  description: "Help",
  prompt: "CHILD do it",
  mode: "sync",
};
const isChild = (request: ModelRequest) => request.texts("user")[0]?.includes("CHILD") ?? false;

interface HookCall {
  hookType: string;
  input: Message["params"];
}

/** One prompt that delegates to one sub-agent, with these answers to hooks. */
async function delegate(
  answer: (hook: HookCall) => object | undefined,
  child: (n: number) => MessageAnswer | ReturnType<typeof status> = (n) => say(`child answer ${n}`),
) {
  await using runtime = await spawnStdio();
  const { wire } = runtime;
  const hooks: HookCall[] = [];
  let children = 0;
  const endpoint = model.endpoint().reply((request) => {
    if (isChild(request)) return child(++children);
    return request.last?.role === "tool" ? say("thanks") : calls([{ name: "task", args }]);
  });
  wire.handle("hooks.invoke", ({ hookType, input }) => {
    hooks.push({ hookType, input });
    return { output: answer({ hookType, input }) };
  });
  await wire.request("connect", {});
  const { sessionId } = await wire.request("session.create", {
    model: "scripted",
    provider: { type: "openai", baseUrl: endpoint.url, apiKey: "k" },
    requestPermission: true,
    hooks: true,
  });
  await wire.request("session.send", { sessionId, prompt: "delegate" });
  await wire.event("session.idle");
  return { sessionId, hooks, endpoint };
}

test("subagentStart is told the agent, and its context stands before the prompt of the child", async () => {
  const { sessionId, hooks, endpoint } = await delegate(({ hookType }) =>
    hookType === "subagentStart" ? { additionalContext: "KNOW THIS" } : undefined,
  );
  const start = hooks.find(({ hookType }) => hookType === "subagentStart");
  expect(start?.input).toMatchObject({ agentName: "general-purpose" });
  if (ours) expect(start?.input).toMatchObject({ sessionId: start?.input.agentId, parentSessionId: sessionId });
  else expect(start?.input.sessionId).toBe(sessionId);
  expect(endpoint.requests.find(isChild)?.texts("user")[0]).toMatch(/KNOW THIS[\s\S]*CHILD do it/);
});

test("subagentStop is told the answer of the child", async () => {
  const { hooks } = await delegate(() => undefined);
  const stop = hooks.find(({ hookType }) => hookType === "subagentStop");
  expect(stop?.input).toMatchObject({
    agentName: "general-purpose",
    agentId: expect.any(String),
    stopReason: "end_turn",
    response: "child answer 1",
  });
});

test("subagentStop may block, and the child works on with the reason", async () => {
  let blocked = false;
  const { endpoint } = await delegate(({ hookType }) => {
    if (hookType !== "subagentStop" || blocked) return undefined;
    blocked = true;
    return { decision: "block", reason: "look once more" };
  });
  const children = endpoint.requests.filter(isChild);
  expect(children).toHaveLength(2);
  expect(children[1]?.lastText).toContain("look once more");
  expect(endpoint.lastRequest.texts("tool")).toEqual(["child answer 2"]);
});

test("hooks inside a sub-agent are told its id, under the root session", async () => {
  const { sessionId, hooks } = await delegate(() => undefined);
  const stop = hooks.find(({ hookType }) => hookType === "subagentStop");
  const prompts = hooks.filter(({ hookType }) => hookType === "userPromptSubmitted");
  expect(prompts.map(({ input }) => input.sessionId)).toEqual([sessionId, stop?.input.agentId]);
});

test.runIf(ours)("subagentStop is told of a child that fails, too", async () => {
  const { hooks } = await delegate(
    () => undefined,
    () => status(400),
  );
  const stop = hooks.find(({ hookType }) => hookType === "subagentStop");
  expect(stop?.input).toMatchObject({ agentName: "general-purpose", stopReason: "error" });
});
