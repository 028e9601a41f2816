/**
 * What a model call costs, in nano-AI-units: whole numbers, so that a sum of bills is exact.
 *
 * A model is priced by tokens (`tokenPrices`, in AI credits for a batch of tokens), else by request (`multiplier`), else not at all.
 */
import type { TokenPrices } from "@retinue/protocol";
import type { Usage } from "./provider.ts";

export const NANO = 1_000_000_000;
const BATCH = 1_000_000;

export interface Pricing {
  /** AI credits of one request, when tokens have no price. */
  multiplier?: number;
  tokenPrices?: TokenPrices;
}

/** Nano-AI-units of one request, and of one token of each kind. */
export interface Rates {
  request: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

export function ratesOf({ multiplier = 0, tokenPrices }: Pricing): Rates {
  if (!tokenPrices) return { request: Math.round(multiplier * NANO), input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const { inputPrice = 0, outputPrice = 0, batchSize = BATCH } = tokenPrices;
  const { cacheReadPrice = tokenPrices.cachePrice ?? inputPrice, cacheWritePrice = inputPrice } = tokenPrices;
  const each = (price: number) => (price * NANO) / batchSize;
  return {
    request: 0,
    input: each(inputPrice),
    output: each(outputPrice),
    cacheRead: each(cacheReadPrice),
    cacheWrite: each(cacheWritePrice),
  };
}

/** The input of a usage holds its cached part. */
export function costOf(usage: Usage, pricing: Pricing): number {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const rates = ratesOf(pricing);
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  return (
    rates.request +
    Math.round(fresh * rates.input) +
    Math.round(outputTokens * rates.output) +
    Math.round(cacheReadTokens * rates.cacheRead) +
    Math.round(cacheWriteTokens * rates.cacheWrite)
  );
}
