/**
 * A model request beside the conversation, made for somebody else while an agent works: it is limited, billed and recorded like a turn, and
 * nothing of it enters the history.
 *
 * The agent holds its slot for the call in which it happens.
 */
import { type FinishReason, type Message, NO_USAGE, type Part } from "../models/provider.ts";
import { withRetries } from "../models/retry.ts";
import type { Agent } from "./agent.ts";
import { apiEndpointOf, reportFailure } from "./model-failure.ts";
import { assumeUsage, settleRequest, textNeed } from "./request-need.ts";

export interface SideRequest {
  system: string;
  messages: readonly Message[];
  maxOutputTokens: number;
  signal: AbortSignal;
}

export interface SideAnswer {
  model: string;
  text: string;
  /** Why it ended. */
  reason: FinishReason;
}

export async function sideRequest(agent: Agent, request: SideRequest): Promise<SideAnswer> {
  const { session } = agent;
  const { signal } = request;
  const choice = agent.model();
  const startedAt = session.world.now();
  let lease = await agent.budget.reserveRequest(() => textNeed(agent, request), { signal });
  let text = "";
  let end: Extract<Part, { type: "end" }> | undefined;
  const sent = () => ({ lease, choice, written: Buffer.byteLength(text) });
  const toSend = () => ({
    model: choice.wireModel,
    system: request.system,
    messages: request.messages,
    tools: [],
    stream: agent.settings.streaming,
    maxOutputTokens: Math.min(request.maxOutputTokens, lease.maxOutputTokens ?? Infinity),
    headers: { "x-initiator": "agent", "x-interaction-type": "conversation-sampling" },
  });
  try {
    await withRetries(choice.provider, toSend(), {
      signal,
      onPart: (part) => {
        if (part.type === "text") text += part.delta;
        if (part.type === "end") end = part;
      },
      onFailure: (failure) => reportFailure(agent, failure, { choice, startedAt, initiator: "agent" }),
      onRestart: () => (text = ""),
      onWasted: () => assumeUsage(agent, sent()),
      renew: async () => {
        lease = await lease.again({ signal });
        return toSend();
      },
    });
    const usage = end?.usage ?? NO_USAGE;
    const totalNanoAiu = settleRequest(agent, usage, sent());
    const duration = session.world.now() - startedAt;
    const answeredBy = end?.model === choice.wireModel ? undefined : end?.model;
    session.append("session.usage_checkpoint", {
      totalNanoAiu: agent.budget.billed(),
      sampled: { ...usage, model: choice.id, answeredBy, duration, copilotUsage: { totalNanoAiu } },
    });
    session.announce("assistant.usage", {
      model: choice.id,
      ...usage,
      cost: choice.info.multiplier ?? 0,
      copilotUsage: { totalNanoAiu, model: end?.model ?? choice.wireModel },
      duration,
      initiator: "mcp-sampling",
      interactionType: "conversation-sampling",
      isByok: true,
      isAuto: false,
      transport: "http",
      apiEndpoint: apiEndpointOf(choice),
    });
    return { model: end?.model ?? choice.wireModel, text, reason: end?.reason ?? "stop" };
  } finally {
    lease.settle(); // Unless the answer has done so.
  }
}
