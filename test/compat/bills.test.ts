/** What is on a bill, and what limits without being on it: requests that broke off, were killed, or whose endpoint keeps silent. */
import type { SessionConfig } from "@github/copilot-sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, calls, drop, hang, raw, say } from "../support/model-answers.ts";
import type { ModelRequest } from "../support/model-server.ts";
import {
  ANSWER_COST,
  bill,
  bounded,
  credits,
  gate,
  isChild,
  type Metrics,
  metricsOf,
  priced,
  tasks,
  tokenPrices,
  USAGE,
} from "../support/priced.ts";
import { byok, ours, startClient, type World } from "../support/runtime.ts";
import { openTalk, resumeTalk, type Talk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

/** As an endpoint would count them: four bytes of a request are a token. */
const inputOf = (request: ModelRequest) => request.bytes.length / 4;

describe.runIf(ours)("a request that breaks off", () => {
  test.each<[string, Answer, boolean]>([
    ["a stream that stops in the middle", say("half an ", { end: "drop" }), true],
    ["a connection that is cut before a word has come", drop(), false],
    ["an answer that ends without its end mark", raw('data: {"choices":[{"delta":{"content":"half"}}]}\n\n'), true],
  ])("counts, and so does each attempt after it: %s", async (_, broken, streaming) => {
    await using talk = await priced(world, { multiplier: 1 }, { budget: { maxCost: 2 }, streaming });
    talk.model.reply(() => broken);
    await talk.ask("go");
    expect(talk.model.requests).toHaveLength(2);
    expect(talk.record.one("session.error").data.message).toMatch(/2 of 2 credits.*was not made again/);
    expect(await bill(talk)).toMatchObject({ totalNanoAiu: 0, unreported: { requests: 2, nanoAiu: 2e9 } });
  });

  test("is never made again when the next attempt could pass the limit, and asks for less when little is left", async () => {
    const limit = 26;
    await using talk = await priced(world, { tokenPrices }, { budget: { maxCost: limit }, streaming: true });
    const sent: { worst: number }[] = [];
    let spent = 0;
    talk.model.reply((request) => {
      const longest = (request.body as { max_tokens?: number }).max_tokens ?? Number.NaN;
      sent.push({ worst: spent + inputOf(request) / 1000 + longest / 100 });
      spent += inputOf(request) / 1000 + 4 / 100; // What it wrote until it broke.
      return say("sixteen letters.", { end: "drop" });
    });
    await talk.ask("go");
    expect(sent.length).toBeGreaterThan(1);
    for (const { worst } of sent) expect(worst).toBeLessThanOrEqual(limit);
    expect(talk.model.lastRequest.body.tool_choice).toBe("none");
    expect(talk.model.lastRequest.lastText).toContain("This is the");
    const { unreported } = await bill(talk);
    expect((unreported?.nanoAiu ?? 0) / 1e9).toBeGreaterThanOrEqual(spent);
  });

  test("does not count when the endpoint has refused it", async () => {
    await using talk = await priced(world, { multiplier: 1 }, { budget: { maxCost: 2 } });
    const refusal: Answer = { kind: "status", status: 503, headers: { "retry-after": "0" }, body: "{}" };
    talk.model.script(refusal, refusal, refusal, say("at last"));
    expect(await talk.ask("go")).toBe("at last");
    expect(credits(await bill(talk))).toBe(1);
    expect((await metricsOf(talk)).unreported).toBeUndefined();
  });

  test("counts for the agents above as well: a child that breaks leaves its parent one turn less", async () => {
    await using talk = await priced(world, { multiplier: 1 }, { budget: { maxCost: 4 }, streaming: true });
    let turn = 0;
    talk.model.reply((request) => {
      if (isChild(request)) return say("half", { end: "drop" });
      return turn++ === 0 ? calls(tasks(1)) : say("that is all");
    });
    expect(await talk.ask("go")).toBe("that is all");
    expect(talk.model.requests.length).toBeLessThanOrEqual(4);
    expect(talk.record.one("subagent.failed").data).toMatchObject({ reason: "over_budget" });
    const { unreported, agentMetrics } = await bill(talk);
    const parts = Object.values(agentMetrics).flatMap((each) => each.unreported ?? []);
    expect(parts).toEqual([unreported]);
  });

  test("gives its place to others while it waits for what they hold", async () => {
    const env = { RETINUE_SUBAGENT_MAX_CONCURRENT: "1" };
    await using narrow = await startClient({ env });
    await using talk = await priced(narrow, { multiplier: 1 }, { budget: { maxCost: 6 } });
    let [turn, broken] = [0, 0];
    talk.model.reply((request) => {
      if (!isChild(request)) return turn++ === 0 ? calls(tasks(2)) : say("done");
      return broken++ === 0 ? drop() : say("child");
    });
    expect(await talk.ask("go")).toBe("done");
    expect(talk.model.requests.length).toBeLessThanOrEqual(6);
    for (const result of talk.model.lastRequest.texts("tool")) expect(result).toContain("child");
  });

  test("counts when it was to give a summary", async () => {
    const infiniteSessions = { enabled: true, backgroundCompactionThreshold: 0.0001, bufferExhaustionThreshold: 0.95 };
    await using talk = await priced(world, { multiplier: 1 }, { budget: { maxCost: 5 }, infiniteSessions });
    const isSummary = ({ headers }: ModelRequest) => headers["x-interaction-type"] === "conversation-compaction";
    talk.model.reply((request) => (isSummary(request) ? drop() : calls([{ name: "list_agents", args: {} }])));
    await talk.ask("go on for ever");
    expect(talk.model.requests.filter(isSummary).length).toBeGreaterThan(0);
    expect(talk.model.requests.length).toBeLessThanOrEqual(5);
    const { unreported } = await bill(talk);
    expect(unreported?.requests).toBe(talk.model.requests.filter(isSummary).length);
  });

  test("counts when it was stopped in the middle of its answer", async () => {
    await using talk = await priced(world, { tokenPrices }, { budget: { maxCost: 1000 }, streaming: true });
    talk.model.reply(() => say("a long answer begins", { end: "hang" }));
    await talk.session.send({ prompt: "go" });
    await talk.record.until("assistant.message_delta");
    await talk.session.abort();
    await talk.record.until("session.idle");
    const { totalNanoAiu, unreported } = await bill(talk);
    expect(totalNanoAiu).toBe(0);
    expect(unreported).toMatchObject({ requests: 1, outputTokens: 7 });
    expect(unreported?.inputTokens).toBeGreaterThan(inputOf(talk.model.lastRequest) * 0.7);
  });
});

test.runIf(ours)("an endpoint that never says what it used cannot be asked for ever", async () => {
  await using talk = await priced(world, {}, { budget: { maxTokens: 60_000 } });
  let tokens = 0;
  talk.model.reply((request) => {
    tokens += inputOf(request);
    return calls([{ name: "list_agents", args: {} }], { usage: { prompt: 0, completion: 0 } });
  });
  await talk.ask("go on for ever");
  expect(talk.model.requests.length).toBeGreaterThan(1);
  expect(tokens).toBeLessThanOrEqual(60_000);
  expect(talk.record.one("session.error").data.message).toContain("of 60000 tokens");
});

describe.runIf(ours)("the model that has answered", () => {
  type Provider = NonNullable<SessionConfig["provider"]>;
  const formats: [string, Partial<Provider>][] = [
    ["completions", { type: "openai" }],
    ["responses", { type: "openai", wireApi: "responses" }],
    ["messages", { type: "anthropic" }],
  ];
  test.each(formats.flatMap(([name, of]) => [true, false].map((streaming) => ({ name, of, streaming }))))(
    "is named by every bill: $name, streaming $streaming",
    async ({ of, streaming }) => {
      const model = world.model.endpoint();
      model.reply(() => say("hello", { model: "another-2026", usage: USAGE }));
      const { provider, ...rest } = byok(model);
      const talk = await openTalk(world, { ...rest, provider: { ...provider, ...of }, streaming });
      await talk.ask("hi");
      expect(talk.record.one("assistant.usage").data).toMatchObject({
        model: "scripted",
        copilotUsage: { model: "another-2026" },
      });
      const named = { modelMetrics: { scripted: { answeredBy: ["another-2026"] } } };
      expect(await bill(talk)).toMatchObject({ ...named, agentMetrics: { main: named } });
      await talk.session.disconnect();
      const { sessionId } = talk.session;
      const { events } = await world.client.rpc.sessions.readPersistedEvents({ sessionId });
      expect(events.at(-1)).toMatchObject({ type: "session.shutdown", data: named });
      await using again = await resumeTalk(world, sessionId);
      expect(await bill(again)).toMatchObject(named);
    },
  );

  test("is named for a sub-agent and for a summary, and only where it is another one", async () => {
    await using talk = await priced(world, { tokenPrices });
    let turn = 0;
    talk.model.reply((request) => {
      if (isChild(request)) return say("child", { model: "for-children", usage: USAGE });
      return turn++ === 0 ? calls(tasks(1), { usage: USAGE }) : say("done", { usage: USAGE });
    });
    await talk.ask("go");
    expect(talk.record.one("subagent.completed").data).toMatchObject({
      modelMetrics: { scripted: { answeredBy: ["for-children"] } },
    });
    expect((await bill(talk)).agentMetrics.main?.modelMetrics.scripted?.answeredBy).toBeUndefined();
    talk.model.reply(() => say("the summary", { model: "for-summaries", usage: USAGE }));
    await talk.session.rpc.history.compact({});
    const { agentMetrics, modelMetrics } = await bill(talk);
    expect(agentMetrics.main?.modelMetrics.scripted?.answeredBy).toEqual(["for-summaries"]);
    expect(modelMetrics.scripted?.answeredBy?.toSorted()).toEqual(["for-children", "for-summaries"]);
  });

  test("is paid for a summary that is empty", async () => {
    await using talk = await priced(world, { tokenPrices });
    talk.model.reply(() => say("hello", { usage: USAGE }));
    await talk.ask("go");
    talk.model.reply(() => say("", { usage: USAGE }));
    await expect(talk.session.rpc.history.compact({})).rejects.toThrow("no summary");
    expect(credits(await bill(talk))).toBe(2 * ANSWER_COST);
  });
});

/** Three children with one answer each on their bill; from the second on `then` answers. */
function threeChildren({ model }: Talk, then: () => Answer): void {
  let turn = 0;
  model.reply((request) => {
    if (!isChild(request)) return turn++ === 0 ? calls(tasks(3), { usage: USAGE }) : say("done", { usage: USAGE });
    return request.last?.role === "tool" ? then() : calls([{ name: "list_agents", args: {} }], { usage: USAGE });
  });
}

describe.runIf(ours)("the bills of the agents are the bill of the session", () => {
  test("after kill -9 in the middle of three children, and when they have gone on", async () => {
    await using crashing = await startClient();
    const model = crashing.model.endpoint();
    const options = { ...bounded(model, { tokenPrices }, { maxCost: 10_000 }), streaming: true };
    const first = { ...(await openTalk(crashing, options)), model };
    const [all, asked] = [gate(), { count: 0 }];
    threeChildren(first, () => {
      if (++asked.count === 3) all.open();
      return say("half", { end: "hang" });
    });
    await first.session.send({ prompt: "go" });
    await all.opened;
    await crashing.kill();
    await using second = await startClient({ folders: crashing.folders, model: crashing.model });
    model.reply((request) => say(isChild(request) ? "child" : "done", { usage: USAGE }));
    const config = { ...options, continuePendingWork: true };
    await using talk = await resumeTalk(second, first.session.sessionId, config, model);
    await talk.record.until("session.idle");
    const after = await bill(talk);
    expect(Object.keys(after.agentMetrics)).toHaveLength(4);
    expect(credits(after)).toBe(8 * ANSWER_COST); // Two answers for each of the four.
    expect(after.unreported).toMatchObject({ requests: 3, outputTokens: 0 });
    const parts = Object.values(after.agentMetrics).flatMap((each) => each.unreported ?? []);
    expect(parts.reduce((sum, { nanoAiu }) => sum + nanoAiu, 0)).toBe(after.unreported?.nanoAiu);
    const ends = talk.record.all("subagent.completed").map(({ data }) => data as unknown as Metrics);
    expect(ends.map(credits)).toEqual([2 * ANSWER_COST, 2 * ANSWER_COST, 2 * ANSWER_COST]);
  });

  test("after kill -9 when nobody goes on with the children", async () => {
    await using crashing = await startClient();
    const model = crashing.model.endpoint();
    const options = bounded(model, { tokenPrices }, {});
    const first = { ...(await openTalk(crashing, options)), model };
    const [all, asked] = [gate(), { count: 0 }];
    threeChildren(first, () => {
      if (++asked.count === 3) all.open();
      return hang();
    });
    await first.session.send({ prompt: "go" });
    await all.opened;
    await crashing.kill();
    await using second = await startClient({ folders: crashing.folders, model: crashing.model });
    await using talk = await resumeTalk(second, first.session.sessionId, options, model);
    const after = await bill(talk);
    expect([Object.keys(after.agentMetrics).length, credits(after)]).toEqual([4, 4 * ANSWER_COST]);
  });

  test("after a cancel in the middle of an answer", async () => {
    await using talk = await priced(world, { tokenPrices }, { streaming: true });
    const [all, asked] = [gate(), { count: 0 }];
    threeChildren(talk, () => {
      if (++asked.count === 3) all.open();
      return asked.count === 1 ? say("one is done", { usage: USAGE }) : say("half", { end: "hang" });
    });
    await talk.session.send({ prompt: "go" });
    await all.opened;
    await talk.record.until("subagent.completed");
    await talk.session.abort();
    await talk.record.until("session.idle");
    const after = await bill(talk);
    expect([Object.keys(after.agentMetrics).length, credits(after)]).toEqual([4, 5 * ANSWER_COST]);
    const ends = talk.record.all("subagent.completed").map(({ data }) => data as unknown as Metrics);
    const main = after.agentMetrics.main?.totalNanoAiu ?? 0;
    expect(ends.reduce((sum, { totalNanoAiu }) => sum + totalNanoAiu, main)).toBe(after.totalNanoAiu);
  });

  test("after a fork while they work: the copy has the past on its bill, and only its own future", async () => {
    await using talk = await priced(world, { tokenPrices });
    const [all, asked] = [gate(), { count: 0 }];
    threeChildren(talk, () => {
      if (++asked.count === 3) all.open();
      return hang();
    });
    await talk.session.send({ prompt: "go" });
    await all.opened;
    const { sessionId } = await world.client.rpc.sessions.fork({ sessionId: talk.session.sessionId });
    const other = world.model.endpoint().reply(() => say("another future", { usage: USAGE }));
    await using fork = await resumeTalk(world, sessionId, bounded(other, { tokenPrices }, {}), other);
    const copied = await bill(fork);
    expect([Object.keys(copied.agentMetrics).length, credits(copied)]).toEqual([4, 4 * ANSWER_COST]);
    await fork.ask("go on");
    expect(credits(await bill(fork))).toBe(5 * ANSWER_COST);
    await talk.session.abort();
    await talk.record.until("session.idle");
    expect(credits(await bill(talk))).toBe(4 * ANSWER_COST);
  });
});
