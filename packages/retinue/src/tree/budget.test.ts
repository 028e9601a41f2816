import { describe, expect, test } from "vitest";
import type { RequestLease, RequestNeed } from "../loop/agent.ts";
import { NANO, ratesOf } from "../models/price.ts";
import { type Budget, Meter, OverBudget } from "./budget.ts";
import { lowerBudget } from "./limits.ts";

const { signal } = new AbortController();
const PRICED = ratesOf({ tokenPrices: { inputPrice: 1, outputPrice: 10, batchSize: 1000 } });

const need = (inputTokens = 100, more: Partial<RequestNeed> = {}): RequestNeed => ({
  inputTokens,
  maxOutputTokens: undefined,
  rates: ratesOf({}),
  ...more,
});

/** A turn that uses exactly what it was expected to, and an answer of this many tokens. */
async function turn(meter: Meter, outputTokens = 0, asked = need()): Promise<RequestLease> {
  const lease = await meter.reserveTurn(() => asked, { signal });
  const nanoAiu = asked.rates.request + asked.inputTokens * asked.rates.input + outputTokens * asked.rates.output;
  lease.settle({ inputTokens: asked.inputTokens, outputTokens, nanoAiu });
  return lease;
}

describe("a budget", () => {
  test("nudges once, makes the last turn that fits the one to wrap up, then ends the run", async () => {
    const meter = new Meter({ maxTurns: 5 });
    const words: (string | undefined)[] = [];
    for (let each = 0; each < 5; each++) words.push((await turn(meter)).words);
    expect(words.slice(0, 3)).toEqual([undefined, undefined, undefined]);
    expect(words[3]).toContain("Most of the budget");
    expect(words[4]).toContain("5 of 5 turns");
    expect(words[4]).toContain("last turn");
    expect(meter.isSpent).toBe(true);
    await expect(turn(meter)).rejects.toThrow(OverBudget);
    expect(meter.used.turns).toBe(5);
  });

  test.each<[string, Budget, number]>([
    ["tokens", { maxTokens: 100_000 }, 100_000],
    ["credits", { maxCost: 100 }, 100],
  ])("of %s is never passed, however long the answers get", async (_, budget, limit) => {
    const meter = new Meter(budget);
    let used = 0;
    let requests = 0;
    const asked = () => need(5000, { rates: PRICED });
    for (;;) {
      const lease = await meter.reserveTurn(asked, { signal }).catch(() => undefined);
      if (!lease) break;
      requests++;
      const longest = lease.maxOutputTokens ?? Number.POSITIVE_INFINITY; // The model writes as much as it may.
      const cost = 5000 * PRICED.input + longest * PRICED.output;
      lease.settle({ inputTokens: 5000, outputTokens: longest, nanoAiu: cost });
      used += budget.maxTokens ? 5000 + longest : cost / NANO;
    }
    expect(requests).toBeGreaterThan(1);
    expect(used).toBeLessThanOrEqual(limit);
    expect(meter.isSpent).toBe(true);
  });

  test("sends a request with an answer that fits what is left", async () => {
    const meter = new Meter({ maxTokens: 1000 });
    const lease = await meter.reserveTurn(() => need(800, { maxOutputTokens: 5000 }), { signal });
    expect(lease).toMatchObject({ maxOutputTokens: 200, isLast: true });
  });

  test("sends no request whose prompt alone does not fit", async () => {
    const meter = new Meter({ maxTokens: 1000 });
    await expect(meter.reserveTurn(() => need(1000), { signal })).rejects.toThrow(OverBudget);
    expect([meter.isSpent, meter.used.turns]).toEqual([true, 0]);
  });

  test("asks for no shorter answer than the model's where there is no limit", async () => {
    expect((await turn(new Meter({ maxTurns: 9 }))).maxOutputTokens).toBeUndefined();
    expect((await turn(new Meter({ maxTurns: 9 }), 0, need(1, { maxOutputTokens: 77 }))).maxOutputTokens).toBe(77);
    expect((await turn(new Meter({}), 0, need(1, { maxOutputTokens: 77 }))).maxOutputTokens).toBeUndefined();
  });

  test("learns from an answer how many tokens a prompt really has", async () => {
    const meter = new Meter({ maxTokens: 15_000 });
    const lease = await meter.reserveTurn(() => need(4000), { signal });
    lease.settle({ inputTokens: 400, outputTokens: 0, nanoAiu: 0 });
    const next = await meter.reserveTurn(() => need(8000), { signal }); // 800 of them, by the same measure.
    expect(next.isLast).toBe(false);
  });

  test("of zero turns allows none", async () => {
    await expect(turn(new Meter({ maxTurns: 0 }))).rejects.toThrow(OverBudget);
  });

  test("of one turn is no failure when the agent answers in it", async () => {
    const meter = new Meter({ maxTurns: 1 });
    expect(await turn(meter)).toMatchObject({ isLast: true, words: expect.stringContaining("only turn") });
    expect(meter.isSpent).toBe(false);
    expect(meter.reserveCall()).toContain("did not run");
    expect(meter.isSpent).toBe(true);
  });

  test("that is not set is never used up", async () => {
    const meter = new Meter({});
    meter.restore({ turns: 1e6, tokens: 1e9, toolCalls: 1e6, nanoAiu: 1e15, spawns: 1e6 });
    expect([(await turn(meter)).words, meter.reserveCall(), meter.reserveSpawn(), meter.isSpent]).toEqual([
      undefined,
      undefined,
      undefined,
      false,
    ]);
  });

  test("lets calls run in their order until none is left, and then gives one turn to wrap up", async () => {
    const meter = new Meter({ maxToolCalls: 2 });
    await turn(meter);
    expect([meter.reserveCall(), meter.reserveCall()]).toEqual([undefined, undefined]);
    expect(meter.reserveCall()).toContain("2 of 2 tool calls");
    expect((await turn(meter)).words).toContain("2 of 2 tool calls");
    await expect(turn(meter)).rejects.toThrow("2 of 2 tool calls");
  });

  test("says how much of the time is gone before it is gone", async () => {
    const meter = new Meter({ maxSeconds: 10 }, { seconds: () => 8.2 });
    expect((await turn(new Meter({ maxSeconds: 10 }, { seconds: () => 7 }))).words).toBeUndefined();
    expect([(await turn(meter)).words, (await turn(meter)).words]).toEqual([
      expect.stringContaining("8 of 10 seconds"),
      undefined,
    ]);
  });
});

describe("what a sub-agent uses", () => {
  test("counts for every agent above it, its turns for those that limit all turns", async () => {
    const root = new Meter({});
    const middle = new Meter({}, { above: root });
    const leaf = new Meter({}, { above: middle });
    await turn(leaf, 30);
    leaf.reserveCall();
    leaf.reserveSpawn();
    expect(root.used).toEqual({ turns: 0, subtreeTurns: 1, tokens: 130, toolCalls: 1, nanoAiu: 0, spawns: 1 });
    expect(middle.used).toEqual(root.used);
  });

  test("leaves the agent above a turn to wrap up, also when many start at once", async () => {
    const rates = ratesOf({ multiplier: 1 });
    const root = new Meter({ maxCost: 5 });
    const asked = need(1, { rates });
    await turn(root, 0, asked);
    const children = Array.from({ length: 8 }, () => new Meter({}, { above: root }));
    const turns = await Promise.allSettled(children.map((child) => turn(child, 0, asked)));
    // One of five is the root's first turn and one its last; the one that can still have a last turn has kept one.
    expect(turns.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(3);
    for (const child of children) {
      await turn(child, 0, asked).catch(() => undefined);
      child.end();
    }
    expect(await turn(root, 0, asked)).toMatchObject({ isLast: true });
    expect(root.used.nanoAiu).toBe(5 * NANO);
    await expect(turn(root, 0, asked)).rejects.toThrow("5 of 5 credits");
  });

  test("waits for what others may give back, before it settles for less", async () => {
    const root = new Meter({ maxTokens: 50_000 });
    const [first, second] = [new Meter({}, { above: root }), new Meter({}, { above: root })];
    const long = { maxOutputTokens: 20_000 };
    const held = await first.reserveTurn(() => need(1000, long), { signal });
    const waiting = second.reserveTurn(() => need(1000, long), { signal });
    expect(await Promise.race([waiting, "not yet"])).toBe("not yet");
    held.settle({ inputTokens: 1000, outputTokens: 10, nanoAiu: 0 });
    expect((await waiting).isLast).toBe(false);
  });

  test("two that wait do not keep each other busy", async () => {
    const root = new Meter({ maxTokens: 10_000 });
    const [first, second, third] = [0, 1, 2].map(() => new Meter({}, { above: root }));
    const held = await first?.reserveTurn(() => need(1000), { signal });
    let settled = 0;
    for (const child of [second, third])
      void child
        ?.reserveTurn(() => need(1000), { signal })
        .then((lease) => {
          settled++;
          lease.settle();
        });
    await new Promise((resolve) => setImmediate(resolve)); // Never comes when they wake each other for ever.
    expect(settled).toBe(0);
    held?.settle();
    await new Promise((resolve) => setImmediate(resolve));
    expect(settled).toBe(2);
  });

  test("does not wait any longer when its agent is stopped", async () => {
    const root = new Meter({ maxTokens: 5000 });
    const stop = new AbortController();
    await new Meter({}, { above: root }).reserveTurn(() => need(1000), { signal });
    const waiting = new Meter({}, { above: root }).reserveTurn(() => need(1000), stop);
    stop.abort(new Error("stopped"));
    await expect(waiting).rejects.toThrow("stopped");
  });

  test("does not include agents that were never started", () => {
    const root = new Meter({ maxSpawns: 2 });
    const child = new Meter({ maxSpawns: 5 }, { above: root });
    expect([root.reserveSpawn(), child.reserveSpawn()]).toEqual([undefined, undefined]);
    expect(child.reserveSpawn()).toContain("2 of 2 agents started, of an agent above");
    expect([root.used.spawns, child.used.spawns]).toEqual([2, 1]);
  });
});

test("a request that fails gives back what it had reserved, except its turn", async () => {
  const meter = new Meter({ maxTokens: 100_000, maxTurns: 10 });
  const lease = await meter.reserveTurn(() => need(30_000), { signal });
  lease.settle();
  lease.settle({ inputTokens: 1e6, outputTokens: 0, nanoAiu: 0 }); // Only the first counts.
  meter.end();
  expect(meter.used).toMatchObject({ turns: 1, tokens: 0 });
  expect((await meter.reserveTurn(() => need(40_000), { signal })).isLast).toBe(false);
});

test("a new run begins with the whole budget and a new nudge", async () => {
  const meter = new Meter({ maxTurns: 2 }, { isPerRun: true });
  await turn(meter);
  expect((await turn(meter)).words).toContain("last turn");
  await expect(turn(meter)).rejects.toThrow(OverBudget);
  meter.begin();
  expect([(await turn(meter)).isLast, meter.isSpent, meter.used.turns]).toEqual([false, false, 1]);
  expect((await turn(meter)).words).toContain("last turn");
});

test("a budget for a lifetime is not reset when a new run begins", async () => {
  const meter = new Meter({ maxTurns: 2 });
  await turn(meter);
  meter.begin();
  expect((await turn(meter)).words).toContain("last turn");
});

test("what an earlier process used counts once, on its own level", async () => {
  const root = new Meter({});
  const child = new Meter({ maxTurns: 3 }, { above: root });
  child.restore({ turns: 2, tokens: 500 });
  expect(root.used.tokens).toBe(0);
  expect((await turn(child)).isLast).toBe(true);
});

test("a call may lower the limits of an agent but never raise them", () => {
  const own = { maxTurns: 5, maxTokens: 100, maxSpawns: 3 };
  expect(lowerBudget(own, { maxTurns: 50, maxTokens: 10, maxSeconds: 3, maxSpawns: 0 })).toEqual({
    maxTurns: 5,
    maxTokens: 10,
    maxSeconds: 3,
    maxSpawns: 0,
  });
});

describe("a request of which the endpoint has not said what it used", () => {
  const asked = () => need(1000, { rates: PRICED });

  test("counts its prompt and what came of its answer, on every level, and never more than was reserved", async () => {
    const root = new Meter({});
    const meter = new Meter({ maxTokens: 10_000 }, { above: root });
    const lease = await meter.reserveTurn(asked, { signal });
    expect(lease.prompt).toEqual({ inputTokens: 1000, outputTokens: 0, nanoAiu: 1000 * PRICED.input });
    expect(lease.assume({ outputTokens: 20 })).toMatchObject({ inputTokens: 1000, outputTokens: 20 });
    lease.settle();
    expect([meter.used, root.used]).toMatchObject([
      { turns: 1, tokens: 1020 },
      { turns: 0, subtreeTurns: 1, tokens: 1020 },
    ]);
    const next = await meter.reserveTurn(asked, { signal });
    expect(next.assume({ outputTokens: 1e9 })?.outputTokens).toBe(next.maxOutputTokens);
    expect(meter.used.tokens).toBeLessThanOrEqual(10_000);
  });

  test("counts what is on the bill once", async () => {
    const meter = new Meter({ maxCost: 10 });
    const rates = ratesOf({ multiplier: 1 });
    const lease = await meter.reserveTurn(() => need(1000, { rates }), { signal });
    expect(lease.assume({ outputTokens: 20, billed: NANO })).toMatchObject({ inputTokens: 1000, nanoAiu: 0 });
    lease.settle();
    expect(meter.used).toMatchObject({ turns: 1, nanoAiu: NANO });
  });

  test("is one turn, however often it is made; each attempt has to fit, and the last one wraps up", async () => {
    const meter = new Meter({ maxTokens: 7000, maxTurns: 9 });
    const leases = [await meter.reserveTurn(asked, { signal })];
    for (;;) {
      const latest = leases.at(-1);
      latest?.assume({ outputTokens: 10 });
      const next = await latest?.again({ signal }).catch(() => undefined);
      if (!next) break;
      leases.push(next);
    }
    for (const lease of leases) lease.settle();
    expect(leases.map(({ isLast }) => isLast)).toEqual([false, false, true, true, true, true]);
    expect(leases.filter(({ words }) => words?.includes("last turn") || words?.includes("only turn"))).toHaveLength(1);
    expect(meter.used).toMatchObject({ turns: 1, tokens: 6060 });
    expect(meter.isSpent).toBe(true);
  });

  test("gives the same lease again where nothing is limited", async () => {
    const lease = await new Meter({}).reserveTurn(asked, { signal });
    expect([lease.prompt, await lease.again({ signal })]).toEqual([undefined, lease]);
  });

  test("counts with what is on the bill where nothing is limited", async () => {
    const meter = new Meter({});
    const lease = await meter.reserveTurn(asked, { signal });
    expect(lease.assume({ outputTokens: 5, billed: 3 })).toBeUndefined();
    lease.settle();
    expect(meter.used).toMatchObject({ turns: 1, tokens: 0, nanoAiu: 3 });
  });
});
