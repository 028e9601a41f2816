import { describe, expect, test } from "vitest";
import { lowerBudget, Meter, OverBudget } from "./budget.ts";

describe("a budget", () => {
  test("nudges once, gives one turn to wrap up, then ends the run", () => {
    const meter = new Meter({ maxTurns: 5 });
    const words: (string | undefined)[] = [];
    for (let turn = 0; turn < 6; turn++) {
      words.push(meter.check());
      meter.add({ turns: 1 });
    }
    expect(words.slice(0, 4)).toEqual([undefined, undefined, undefined, undefined]);
    expect(words[4]).toContain("Most of the budget");
    expect(words[5]).toContain("last turn");
    expect(meter.isSpent).toBe(true);
    expect(() => meter.check()).toThrow(OverBudget);
  });

  test.each([
    ["maxTokens", { tokens: 10 }],
    ["maxToolCalls", { toolCalls: 10 }],
    ["maxCost", { cost: 10 }],
  ] as const)("counts %s", (limit, used) => {
    const meter = new Meter({ [limit]: 10 });
    expect(meter.check()).toBeUndefined();
    meter.add(used);
    expect(meter.check()).toContain("10 of 10");
  });

  test("of nothing is used up before the first turn", () => {
    expect(new Meter({ maxTurns: 0 }).check()).toContain("last turn");
  });

  test("that is not set never ends", () => {
    const meter = new Meter({});
    meter.add({ turns: 1e6, tokens: 1e9, toolCalls: 1e6, cost: 1e6 });
    expect([meter.check(), meter.isSpent]).toEqual([undefined, false]);
  });
});

describe("what a sub-agent uses", () => {
  test("counts for everybody above it, its turns excepted", () => {
    const root = new Meter({});
    const middle = new Meter({}, root);
    new Meter({}, middle).add({ turns: 2, tokens: 30, toolCalls: 4, cost: 0.5 });
    expect(root.used).toEqual({ turns: 0, tokens: 30, toolCalls: 4, cost: 0.5 });
    expect(middle.used).toEqual(root.used);
  });

  test("up to the limit of an agent above ends it as well, each after a turn of its own", () => {
    const root = new Meter({ maxTokens: 100 });
    const child = new Meter({}, root);
    child.add({ tokens: 100 });
    expect(child.check()).toContain("last turn");
    expect(root.check()).toContain("last turn");
    expect(() => child.check()).toThrow(OverBudget);
  });
});

test("a new run begins with the whole budget, and with its own nudge", () => {
  const meter = new Meter({ maxTurns: 1 });
  meter.add({ turns: 1 });
  meter.check();
  expect(() => meter.check()).toThrow(OverBudget);
  meter.reset();
  expect([meter.check(), meter.isSpent, meter.used.turns]).toEqual([undefined, false, 0]);
  meter.add({ turns: 1 });
  expect(meter.check()).toContain("last turn");
});

test("a call may lower the limits of an agent and never raise them", () => {
  expect(lowerBudget({ maxTurns: 5, maxTokens: 100 }, { maxTurns: 50, maxTokens: 10, maxSeconds: 3 })).toEqual({
    maxTurns: 5,
    maxTokens: 10,
    maxSeconds: 3,
  });
  expect(lowerBudget({ maxTurns: 5 })).toEqual({ maxTurns: 5 });
});
