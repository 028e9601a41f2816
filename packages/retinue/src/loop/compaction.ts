/**
 * Compaction: when the context fills up, the history becomes a summary, kept as a checkpoint.
 *
 * Owns when it happens and the request for the summary. What a compacted history looks like is in session/state.ts.
 */
import { AppError, messageOf } from "@retinue/protocol";
import { NO_USAGE, type Usage } from "../models/provider.ts";
import { withRetries } from "../models/retry.ts";
import { addCheckpoint } from "../session/folder.ts";
import type { Agent, RequestLease, Toolset } from "./agent.ts";
import words from "./compaction.md";
import { type ContextSize, contextSize, messageTokens } from "./context-size.ts";
import { specsOf } from "./model-request.ts";
import { requestNeed, settleRequest } from "./request-need.ts";

export interface CompactionInput {
  system: string;
  toolset: Toolset;
  signal: AbortSignal;
  trigger: "manual" | "threshold" | "context_limit_retry";
  customInstructions?: string;
}

export interface CompactionResult {
  summary: string;
  tokensRemoved: number;
  messagesRemoved: number;
  size: ContextSize;
}

/** Before a model call: summarise at the first threshold, drop the oldest messages at the second. */
export async function compactIfNeeded(agent: Agent, input: Omit<CompactionInput, "trigger">): Promise<void> {
  const { compaction } = agent.settings;
  const before = contextSize(agent, input);
  if (!compaction.enabled || before.currentTokens < compaction.startAt * before.tokenLimit) return;
  if (agent.session.state.messages.length > 2) {
    try {
      await compact(agent, { ...input, trigger: "threshold" });
    } catch (error) {
      if (input.signal.aborted) throw error; // Otherwise the failure is recorded, and the turn goes on with what fits.
    }
  }
  truncate(agent, input);
}

/** Throws when there is nothing to compact or the model gives no summary; the failure is recorded as well. */
export async function compact(agent: Agent, input: CompactionInput): Promise<CompactionResult> {
  const { session } = agent;
  const before = contextSize(agent, input);
  const messagesBefore = session.state.messages.length;
  if (messagesBefore === 0) throw new AppError("invalid_params", "Nothing to compact.");
  const sizes = {
    systemTokens: before.systemTokens,
    conversationTokens: before.conversationTokens,
    toolDefinitionsTokens: before.toolDefinitionsTokens,
  };
  session.append("session.compaction_start", {
    ...sizes,
    currentTokens: before.currentTokens,
    ...(input.trigger === "manual" ? {} : { tokenLimit: before.tokenLimit, trigger: input.trigger }),
  });
  try {
    const { summary, usage, totalNanoAiu, durationMs, model } = await reserved(agent, input);
    const checkpoint = addCheckpoint(session.place.folder, { title: titleOf(agent), content: summary });
    session.append("session.compaction_complete", {
      success: true,
      preCompactionTokens: before.currentTokens,
      preCompactionMessagesLength: messagesBefore,
      messagesRemoved: Math.max(0, messagesBefore - 1),
      tokensRemoved: 0,
      summaryContent: summary,
      checkpointNumber: checkpoint.number,
      checkpointPath: checkpoint.path,
      compactionTokensUsed: { ...usage, duration: durationMs, model, copilotUsage: { totalNanoAiu } },
      customInstructions: input.customInstructions || undefined,
      trigger: input.trigger === "manual" ? undefined : input.trigger,
      ...sizes,
      tokenLimit: before.tokenLimit,
    });
    const after = contextSize(agent, input);
    return {
      summary,
      tokensRemoved: Math.max(0, before.currentTokens - after.currentTokens),
      messagesRemoved: Math.max(0, messagesBefore - session.state.messages.length),
      size: after,
    };
  } catch (error) {
    session.append("session.compaction_complete", { success: false, error: messageOf(error) });
    throw error;
  }
}

interface Summary {
  summary: string;
  usage: Usage;
  totalNanoAiu: number;
  durationMs: number;
  model: string;
}

const FREE: RequestLease = { isLast: false, maxOutputTokens: undefined, settle: () => undefined };

async function reserved(agent: Agent, input: CompactionInput): Promise<Summary> {
  // A person who asks for a summary asks outside of any run, so no budget of a run holds.
  const lease =
    input.trigger === "manual" ? FREE : await agent.budget.reserveRequest(() => requestNeed(agent, input), input);
  try {
    await agent.slot.enter(input.signal);
    return await summarise(agent, input, lease);
  } finally {
    lease.settle(); // Unless the answer has done so.
    agent.slot.leave();
  }
}

async function summarise(agent: Agent, input: CompactionInput, lease: RequestLease): Promise<Summary> {
  const { session } = agent;
  const choice = agent.model();
  const startedAt = session.world.now();
  const task = input.customInstructions ? `${words.trim()}\n\n${input.customInstructions}` : words.trim();
  let summary = "";
  let usage = NO_USAGE;
  await withRetries(
    choice.provider,
    {
      model: choice.wireModel,
      system: input.system,
      messages: [...session.state.completeMessages(), { role: "user", content: task }],
      tools: specsOf(input.toolset),
      toolChoice: "none",
      stream: agent.settings.streaming,
      maxOutputTokens: lease.maxOutputTokens,
      headers: { "x-initiator": "agent", "x-interaction-type": "conversation-compaction" },
    },
    {
      signal: input.signal,
      onPart: (part) => {
        if (part.type === "text") summary += part.delta;
        if (part.type === "end") usage = part.usage;
      },
      onRestart: () => (summary = ""),
    },
  );
  const totalNanoAiu = settleRequest(lease, usage, choice.info);
  if (summary.trim() === "") throw new AppError("model_failed", "The model returned no summary.");
  return { summary, usage, totalNanoAiu, durationMs: session.world.now() - startedAt, model: choice.id };
}

/** Drops the oldest messages until the rest fits, never between a call and its result. */
function truncate(agent: Agent, input: Omit<CompactionInput, "trigger">): void {
  const { session } = agent;
  const size = contextSize(agent, input);
  const limit = agent.settings.compaction.dropAt * size.tokenLimit;
  const { messages } = session.state;
  let dropped = { messages: 0, tokens: 0 };
  let tokens = 0;
  for (const [index, message] of messages.slice(0, -1).entries()) {
    if (size.currentTokens - dropped.tokens <= limit) break;
    tokens += messageTokens(message);
    if (messages[index + 1]?.role !== "tool") dropped = { messages: index + 1, tokens };
  }
  if (dropped.messages === 0) return;
  session.append("session.truncation", {
    tokenLimit: size.tokenLimit,
    preTruncationTokensInMessages: size.conversationTokens,
    preTruncationMessagesLength: messages.length,
    postTruncationTokensInMessages: size.conversationTokens - dropped.tokens,
    postTruncationMessagesLength: messages.length - dropped.messages,
    tokensRemovedDuringTruncation: dropped.tokens,
    messagesRemovedDuringTruncation: dropped.messages,
    performedBy: "retinue",
  });
}

function titleOf({ session }: Agent): string {
  return session.root.state.title ?? `Session ${session.root.id.slice(0, 8)}`;
}
