/** What one model request may take of each limit, and what an endpoint may charge that does not say. */
import type { RequestNeed, Used } from "../loop/agent.ts";
import type { Amounts, Resource } from "./ledger.ts";

/** What a request takes of one limit: an amount that is known before, and one for each token of its answer, now and as input later. */
export interface Cost {
  resource: Resource;
  fixed: number;
  input: number;
  output: number;
}

export function amountsOf(costs: readonly Cost[], outputTokens: number): Amounts {
  return Object.fromEntries(
    costs.map(({ resource, fixed, output }) => [resource, Math.ceil(fixed + output * outputTokens)]),
  );
}

/** `ratio`: tokens of the last request for each one that was estimated. */
export function costsOf({ inputTokens, rates }: RequestNeed, counted: Amounts, ratio: number): Cost[] {
  const tokens = Math.ceil(inputTokens * ratio);
  const dearest = dearestInput(rates);
  return [
    { resource: "turns", fixed: counted.turns ?? 0, input: 0, output: 0 },
    { resource: "subtreeTurns", fixed: counted.subtreeTurns ?? 0, input: 0, output: 0 },
    { resource: "tokens", fixed: tokens, input: 1, output: 1 },
    { resource: "nanoAiu", fixed: rates.request + tokens * dearest, input: dearest, output: rates.output },
  ];
}

export function promptOf({ inputTokens, rates }: RequestNeed, ratio: number): Used {
  const tokens = Math.ceil(inputTokens * ratio);
  return { inputTokens: tokens, outputTokens: 0, nanoAiu: Math.ceil(rates.request + tokens * dearestInput(rates)) };
}

/** What an endpoint may charge that has not said what it does: the prompt, and as much of an answer as has come. */
export function worstOf(
  { need, prompt, maxOutputTokens }: { need: RequestNeed; prompt: Used; maxOutputTokens: number | undefined },
  came: number,
): Used {
  const { inputTokens } = prompt;
  const { rates } = need;
  const outputTokens = Math.min(came, maxOutputTokens ?? came);
  // Rounded once, as what was reserved: it is never more than that.
  const nanoAiu = Math.ceil(rates.request + inputTokens * dearestInput(rates) + outputTokens * rates.output);
  return { inputTokens, outputTokens, nanoAiu };
}

/** Endpoints charge more for input that they keep. */
const dearestInput = ({ input, cacheWrite }: RequestNeed["rates"]): number => Math.max(input, cacheWrite);
