/** What a model request may take, worked out before it is sent, and what it took. */

import type { ModelInfo } from "../models/model-info.ts";
import { costOf, ratesOf } from "../models/price.ts";
import type { Usage } from "../models/provider.ts";
import type { Agent, RequestLease, RequestNeed, Toolset } from "./agent.ts";
import { contextSize } from "./context-size.ts";

/** The context is measured at four characters for a token; this leaves room for text that has fewer, until an answer tells. */
const CAUTION = 4 / 3;

export function requestNeed(agent: Agent, input: { system: string; toolset: Toolset }): RequestNeed {
  const { info } = agent.model();
  return {
    inputTokens: Math.ceil(contextSize(agent, input).currentTokens * CAUTION),
    maxOutputTokens: info.maxOutputTokens,
    rates: ratesOf(info),
  };
}

/** Counts what a request has used, and says what it costs. */
export function settleRequest(lease: RequestLease, usage: Usage, info: ModelInfo): number {
  const nanoAiu = costOf(usage, info);
  lease.settle({ inputTokens: usage.inputTokens, outputTokens: usage.outputTokens, nanoAiu });
  return nanoAiu;
}
