/** What a model request may take, worked out before it is sent, and what it took. */

import type { ModelChoice } from "../models/catalog.ts";
import { costOf, ratesOf } from "../models/price.ts";
import type { Message, Usage } from "../models/provider.ts";
import type { Agent, RequestLease, RequestNeed, Toolset } from "./agent.ts";
import { contextSize, IMAGE_TOKENS } from "./context-size.ts";
import { withoutImages } from "./model-request.ts";

/** Leaves room for text that has fewer characters for a token than is known or assumed. */
const CAUTION = 4 / 3;
const BYTES_PER_TOKEN = 4 / CAUTION;

export function requestNeed(agent: Agent, input: { system: string; toolset: Toolset }): RequestNeed {
  const { info } = agent.model();
  return {
    inputTokens: Math.ceil(contextSize(agent, input).currentTokens * CAUTION),
    maxOutputTokens: info.maxOutputTokens,
    rates: ratesOf(info),
  };
}

/** The same for a request that has nothing of the conversation. */
export function textNeed(
  agent: Agent,
  { system, messages, maxOutputTokens }: { system: string; messages: readonly Message[]; maxOutputTokens: number },
): RequestNeed {
  const { info } = agent.model();
  const bytes = Buffer.byteLength(system) + Buffer.byteLength(JSON.stringify(withoutImages(messages)));
  const images = messages.reduce((sum, message) => sum + imagesIn(message), 0);
  const inputTokens = Math.ceil(bytes / BYTES_PER_TOKEN + images * IMAGE_TOKENS * CAUTION);
  return { inputTokens, maxOutputTokens, rates: ratesOf(info) };
}

const imagesIn = (message: Message): number =>
  message.role === "user" && typeof message.content !== "string"
    ? message.content.filter(({ type }) => type === "image").length
    : 0;

/** A model request that was answered, or of which something came. */
export interface Sent {
  lease: RequestLease;
  /** The model that was asked. */
  choice: ModelChoice;
  /** Bytes of the answer that have come. */
  written: number;
}

/** Counts what a request has used, and says what it costs. */
export function settleRequest(agent: Agent, usage: Usage, sent: Sent): number {
  const { inputTokens, outputTokens } = usage;
  const nanoAiu = costOf(usage, sent.choice.info);
  if (inputTokens + outputTokens === 0) assumeUsage(agent, sent, { billed: nanoAiu });
  else sent.lease.settle({ inputTokens, outputTokens, nanoAiu });
  return nanoAiu;
}

/**
 * Counts what the endpoint may charge for a request of which it has not said what it used. An estimate limits, and is recorded so that it
 * does so after a restart too; it is not on the bill, which has what endpoints said.
 */
export function assumeUsage(agent: Agent, { lease, choice, written }: Sent, { billed = 0 } = {}): void {
  const used = lease.assume({ outputTokens: Math.ceil(written / BYTES_PER_TOKEN), billed });
  if (used)
    agent.session.append("session.usage_checkpoint", {
      totalNanoAiu: agent.budget.billed(),
      unreported: { ...used, model: choice.id },
    });
}
