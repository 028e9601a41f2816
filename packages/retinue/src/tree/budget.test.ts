import { describe, expect, test } from "vitest";
import { lowerBudget, Meter, OverBudget } from "./budget.ts";

describe("a budget", () => {
  test("nudges once, gives one turn to wrap up, then ends the run", () => {
    const meter = new Meter({ maxTurns: 5 });
    const words: (string | undefined)[] = [];
    for (let turn = 0; turn < 6; turn++) {
      words.push(meter.beforeTurn());
    }
    expect(words.slice(0, 4)).toEqual([undefined, undefined, undefined, undefined]);
    expect(words[4]).toContain("Most of the budget");
    expect(words[5]).toContain("last turn");
    expect(meter.isSpent).toBe(true);
    expect(() => meter.beforeTurn()).toThrow(OverBudget);
  });

  test.each([
    ["maxTokens", { tokens: 10 }],
    ["maxToolCalls", { toolCalls: 10 }],
    ["maxCost", { cost: 10 }],
  ] as const)("counts %s", (limit, used) => {
    const meter = new Meter({ [limit]: 10 });
    expect(meter.beforeTurn()).toBeUndefined();
    meter.add(used);
    expect(meter.beforeTurn()).toContain("10 of 10");
  });

  test("of zero is used up before the first turn", () => {
    expect(new Meter({ maxTurns: 0 }).beforeTurn()).toContain("last turn");
  });

  test("that is not set is never used up", () => {
    const meter = new Meter({});
    meter.add({ turns: 1e6, tokens: 1e9, toolCalls: 1e6, cost: 1e6 });
    expect([meter.beforeTurn(), meter.isSpent]).toEqual([undefined, false]);
  });
});

describe("what a sub-agent uses", () => {
  test("counts for every agent above it, except its turns", () => {
    const root = new Meter({});
    const middle = new Meter({}, { above: root });
    new Meter({}, { above: middle }).add({ turns: 2, tokens: 30, toolCalls: 4, cost: 0.5 });
    expect(root.used).toEqual({ turns: 0, tokens: 30, toolCalls: 4, cost: 0.5 });
    expect(middle.used).toEqual(root.used);
  });

  test("may reach the limit of an agent above, which ends both, each after a turn of its own", () => {
    const root = new Meter({ maxTokens: 100 });
    const child = new Meter({}, { above: root });
    child.add({ tokens: 100 });
    expect(child.beforeTurn()).toContain("last turn");
    expect(root.beforeTurn()).toContain("last turn");
    expect(() => child.beforeTurn()).toThrow(OverBudget);
  });
});

test("a new run begins with the whole budget and a new nudge", () => {
  const meter = new Meter({ maxTurns: 1 }, { isPerRun: true });
  expect([meter.beforeTurn(), meter.beforeTurn()]).toEqual([undefined, expect.stringContaining("last turn")]);
  expect(() => meter.beforeTurn()).toThrow(OverBudget);
  meter.begin();
  expect([meter.beforeTurn(), meter.isSpent, meter.used.turns]).toEqual([undefined, false, 1]);
  expect(meter.beforeTurn()).toContain("last turn");
});

test("a budget for a lifetime is not reset when a new run begins", () => {
  const meter = new Meter({ maxTurns: 1 });
  meter.beforeTurn();
  meter.begin();
  expect(meter.beforeTurn()).toContain("last turn");
});

test("a call may lower the limits of an agent but never raise them", () => {
  expect(lowerBudget({ maxTurns: 5, maxTokens: 100 }, { maxTurns: 50, maxTokens: 10, maxSeconds: 3 })).toEqual({
    maxTurns: 5,
    maxTokens: 10,
    maxSeconds: 3,
  });
  expect(lowerBudget({ maxTurns: 5 })).toEqual({ maxTurns: 5 });
});
