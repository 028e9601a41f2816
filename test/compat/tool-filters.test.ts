/** Which tools the model is offered: the lists of the session and how they combine. */
import type { SessionConfig } from "@github/copilot-sdk";
import { ToolSet } from "@github/copilot-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const host = (name: string) => ({ name, description: name, parameters: { type: "object" }, handler: () => name });
const tools = [host("mine"), host("yours")];

async function offered(config: Partial<SessionConfig>): Promise<string[]> {
  await using talk = await openTalk(world, { tools, ...config });
  await talk.ask("hi");
  return talk.model.lastRequest.toolNames;
}

test("without filters all built-in and all host tools are offered", async () => {
  expect(await offered({})).toEqual(
    expect.arrayContaining(["bash", "read_bash", "stop_bash", "list_bash", "view", "create", "edit", "grep", "glob"]),
  );
  expect(await offered({})).toEqual(expect.arrayContaining(["web_fetch", "sql", "mine", "yours"]));
});

test("availableTools keeps only the named built-in tools and never removes host tools", async () => {
  expect((await offered({ availableTools: ["view", "grep"] })).sort()).toEqual(["grep", "mine", "view", "yours"]);
  expect((await offered({ availableTools: [] })).sort()).toEqual(["mine", "yours"]);
});

test("excludedTools removes built-in and host tools", async () => {
  const names = await offered({ excludedTools: ["bash", "yours"] });
  expect(names).not.toContain("bash");
  expect(names).not.toContain("yours");
  expect(names).toEqual(expect.arrayContaining(["view", "mine"]));
});

test("what is excluded stays out even when it is also available", async () => {
  const names = await offered({ availableTools: ["view", "grep"], excludedTools: ["grep"] });
  expect(names.sort()).toEqual(["mine", "view", "yours"]);
});

test("entries may name a source: builtin and custom", async () => {
  expect((await offered({ availableTools: ["builtin:view", "builtin:glob"] })).sort()).toEqual([
    "glob",
    "mine",
    "view",
    "yours",
  ]);
  expect(await offered({ excludedTools: ["custom:mine", "builtin:view"] })).not.toEqual(
    expect.arrayContaining(["mine"]),
  );
  const noBuiltin = await offered({ excludedTools: ["builtin:*"] });
  expect(noBuiltin.sort()).toEqual(["mine", "yours"]);
  const noHost = await offered({ excludedTools: ["custom:*"] });
  expect(noHost).toContain("view");
  expect(noHost).not.toContain("mine");
});

test("a tool set of the SDK is such a list", async () => {
  const names = await offered({ availableTools: new ToolSet().addBuiltIn("view") });
  expect(names.sort()).toEqual(["mine", "view", "yours"]);
});

test("defaultAgent.excludedTools hides a tool from the main agent", async () => {
  const names = await offered({ defaultAgent: { excludedTools: ["mine", "grep"] } });
  expect(names).not.toContain("mine");
  expect(names).not.toContain("grep");
  expect(names).toContain("yours");
});

/** What an agent with these tools is offered below the main agent, with this configuration of the session. */
async function offeredBelow(agentTools: string[] | null, config: Partial<SessionConfig>): Promise<string[]> {
  const agent = { name: "helper", description: "Helps.", prompt: "Help.", tools: agentTools };
  await using talk = await openTalk(world, { tools, customAgents: [agent], ...config });
  const task = { name: "t", agent_type: "helper", description: "d", prompt: "CHILD" };
  talk.model.script(call("task", task), say("child"), say("done"));
  await talk.ask("delegate");
  return talk.model.requests[1]?.toolNames ?? [];
}

test.runIf(ours)("what is hidden from the main agent comes back only for an agent that names it", async () => {
  const defaultAgent = { excludedTools: ["mine"] };
  for (const unset of [null, ["*"], ["custom:*"]]) {
    const names = await offeredBelow(unset, { defaultAgent });
    expect(names).toContain("yours");
    expect(names).not.toContain("mine");
  }
  expect(await offeredBelow(["mine"], { defaultAgent })).toEqual(["mine"]);
});

test.runIf(ours)("availableTools means the same for sub-agents: it never removes a host tool", async () => {
  const availableTools = ["view", "task"];
  expect((await offeredBelow(null, { availableTools })).sort()).toEqual(["mine", "task", "view", "yours"]);
  expect(await offeredBelow(["mine", "grep"], { availableTools })).toEqual(["mine"]);
});

test("a tool that is filtered out cannot be called either", async () => {
  await using talk = await openTalk(world, { excludedTools: ["bash"] });
  talk.model.script(call("bash", { command: "echo hi", description: "x" }), say("went on"));
  expect(await talk.ask("try")).toBe("went on");
  expect(talk.record.one("tool.execution_complete").data).toMatchObject({ success: false });
  expect(talk.model.lastRequest.texts("tool")[0]).toContain("bash");
});
