import { expect, test } from "vitest";
import { costOf, NANO } from "./price.ts";
import { NO_USAGE } from "./provider.ts";

const tokenPrices = { inputPrice: 3, outputPrice: 15, cacheReadPrice: 0.3, cacheWritePrice: 3.75 };
const usage = { ...NO_USAGE, inputTokens: 1000, cacheReadTokens: 600, cacheWriteTokens: 100, outputTokens: 20 };

test("every kind of token has its own price, and cached ones are not paid for twice", () => {
  const credits = (300 * 3 + 600 * 0.3 + 100 * 3.75 + 20 * 15) / 1_000_000;
  expect(costOf(usage, { tokenPrices })).toBe(Math.round(credits * NANO));
});

test("cached tokens without a price of their own cost what fresh ones do", () => {
  expect(costOf(usage, { tokenPrices: { inputPrice: 1, batchSize: 1000 } })).toBe(NANO);
});

test("a model without prices of tokens costs its multiplier for each request, and prices of tokens count instead of it", () => {
  expect(costOf(usage, { multiplier: 0.33 })).toBe(330_000_000);
  expect(costOf(usage, { multiplier: 9, tokenPrices: {} })).toBe(0);
  expect(costOf(usage, {})).toBe(0);
});

test("costs are whole numbers, so that any sum of them is exact", () => {
  const third = costOf({ ...NO_USAGE, inputTokens: 1 }, { tokenPrices: { inputPrice: 1, batchSize: 3 } });
  expect([Number.isInteger(third), third + third + third]).toEqual([true, 999_999_999]);
});
