/** Which model a sub-agent gets when nothing but `config.json` says anything about models: seen by the endpoint and by the official SDK. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { calls, say } from "../support/model-answers.ts";
import { type Endpoint, startModelServer } from "../support/model-server.ts";
import { type Folders, freshFolders, ours, startClient } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

const MODELS = [
  { id: "gpt-main", multiplier: 1 },
  { id: "gpt-mini", multiplier: 0.25, reasoningEffort: true },
  { id: "claude-main", multiplier: 1, structuredOutput: true },
  { id: "claude-grand", multiplier: 10 },
];

interface Run {
  args?: object;
  subagents?: object;
  /** Of the session; absent: that of config.json. */
  model?: string;
}

async function configure({ home }: Folders, { url: baseUrl }: Endpoint, subagents: object): Promise<void> {
  const providers = [{ name: "p", baseUrl, apiKey: "test-key", models: MODELS }];
  await writeFile(path.join(home, "config.json"), JSON.stringify({ model: "p/gpt-main", providers, subagents }));
}

/** Starts one sub-agent. Returns what its endpoint was asked for, its start, and what the main agent read. */
async function delegated(agentType: string, { args = {}, subagents = {}, model: named }: Run = {}) {
  await using folders = await freshFolders();
  await using model = await startModelServer();
  const endpoint = model.endpoint();
  await configure(folders, endpoint, subagents);
  await using world = await startClient({ folders, model });
  await using talk = await openTalk(world, { model: named, provider: undefined });
  const task = { name: "t", agent_type: agentType, description: "d", prompt: "CHILD look", ...args };
  endpoint.reply((request) => {
    if (request.texts("user").some((text) => text.includes("CHILD"))) return say('{"found":true}');
    return request.texts("tool").length === 0 ? calls([{ name: "task", args: task }]) : say("done");
  });
  await talk.session.sendAndWait({ prompt: "delegate" });
  const ofChild = endpoint.requests.find((request) => request.texts("user").some((text) => text.includes("CHILD")));
  return {
    asked: ofChild?.body,
    started: talk.record.all("subagent.started")[0]?.data,
    read: endpoint.lastRequest.texts("tool").join("\n"),
  };
}

test.runIf(ours).each([undefined, "gpt-main", "p/gpt-main"])(
  "rubber-duck gets a model of another maker than the author's, who is on %s",
  async (model) => {
    const { asked, started } = await delegated("rubber-duck", { model });
    expect(asked?.model).toBe("claude-main");
    expect(started?.modelSelectionSource).toBe("complementary_default");
    expect((await delegated("rubber-duck", { model, subagents: { otherFamily: false } })).asked?.model).toBe(
      "gpt-main",
    );
  },
);

test.runIf(ours)("the cost guard replaces a dearer model, however it is named, and says so", async () => {
  for (const model of ["claude-grand", "p/claude-grand"]) {
    const { asked, read } = await delegated("general-purpose", { args: { model } });
    expect(asked?.model).toBe("gpt-main");
    expect(read).toContain(`${model} costs more (10x)`);
  }
  const subagents = { costGuard: false };
  const { asked } = await delegated("general-purpose", { args: { model: "claude-grand" }, subagents });
  expect(asked?.model).toBe("claude-grand");
});

test.runIf(ours)("a model that config.json does not name is refused with those that it names", async () => {
  const { asked, read } = await delegated("general-purpose", { args: { model: "zzz" } });
  expect(asked).toBeUndefined();
  expect(read).toContain("Unknown model: zzz. Valid models are: p/gpt-main, p/gpt-mini, p/claude-main, p/claude-grand");
});

test.runIf(ours)("explore gets the cheapest model with little thinking, once that is switched on", async () => {
  expect((await delegated("explore")).asked?.model).toBe("gpt-main");
  const { asked } = await delegated("explore", { subagents: { fastModel: "cheapest" } });
  expect(asked).toMatchObject({ model: "gpt-mini", reasoning_effort: "low" });
});

test.runIf(ours)("a schema goes to the endpoint where the model takes one", async () => {
  const schema = { type: "object", properties: { found: { type: "boolean" } } };
  const { asked } = await delegated("general-purpose", { args: { schema, model: "claude-main" } });
  expect(asked).toMatchObject({ response_format: { type: "json_schema", json_schema: { schema } } });
  const other = await delegated("general-purpose", { args: { schema } });
  expect(other.asked).not.toHaveProperty("response_format");
  expect(other.read).toBe('{"found":true}');
});

test.runIf(ours).each([
  [{}, 1],
  [{ RETINUE_SUBAGENT_MAX_CONCURRENT: "2" }, 2],
])("maxConcurrent of config.json counts unless the environment says otherwise: %o", async (env, most) => {
  await using folders = await freshFolders();
  await using model = await startModelServer();
  const endpoint = model.endpoint();
  await configure(folders, endpoint, { maxConcurrent: 1 });
  await using world = await startClient({ folders, model, env });
  await using talk = await openTalk(world, { model: undefined, provider: undefined });
  const task = (name: string) => ({
    name: "task",
    args: { name, agent_type: "general-purpose", description: "d", prompt: "CHILD look" },
  });
  let working = 0;
  let seen = 0;
  let bothAreHere = () => {};
  const both = new Promise<void>((resolve) => {
    bothAreHere = resolve;
  });
  endpoint.reply(async (request) => {
    if (!request.texts("user").some((text) => text.includes("CHILD")))
      return request.texts("tool").length === 0 ? calls([task("a"), task("b")]) : say("done");
    working++;
    seen = Math.max(seen, working);
    if (working === 2) bothAreHere();
    if (most === 2) await both;
    working--;
    return say("found");
  });
  await talk.session.sendAndWait({ prompt: "delegate" });
  expect(seen).toBe(most);
});

test.runIf(ours).each([
  [1, { maxConcurrent: 1 }],
  [3, {}],
])("%i of three sub-agents work at once where config.json says %j", async (most, subagents) => {
  await using folders = await freshFolders();
  await using model = await startModelServer();
  const endpoint = model.endpoint();
  await configure(folders, endpoint, subagents);
  await using world = await startClient({ folders, model });
  await using talk = await openTalk(world, { provider: undefined });
  const task = (name: string) => ({
    name: "task",
    id: name,
    args: { name, agent_type: "general-purpose", description: "d", prompt: "CHILD look", mode: "sync" },
  });
  const seen: number[] = [];
  let atWork = 0;
  endpoint.reply(async (request) => {
    if (!request.texts("user")[0]?.includes("CHILD"))
      return request.texts("tool").length === 0 ? calls(["a", "b", "c"].map(task)) : say("done");
    seen.push(++atWork);
    await expect.poll(() => Math.max(...seen)).toBe(most);
    atWork -= 1;
    return say("looked");
  });
  await talk.session.sendAndWait({ prompt: "delegate" });
  expect(seen).toHaveLength(3);
  expect(Math.max(...seen)).toBe(most);
});
