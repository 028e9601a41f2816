/**
 * Compaction: when the context fills up, the history becomes a summary, kept as a checkpoint.
 *
 * Owns when it happens and the request for the summary. What a compacted history looks like is in session/state.ts.
 */
import { AppError, type EventData, messageOf } from "@retinue/protocol";
import { ModelCallFailed } from "../models/call-failed.ts";
import type { ModelChoice } from "../models/catalog.ts";
import { type ModelRequest, NO_USAGE, type Part } from "../models/provider.ts";
import { type RetryOptions, withRetries } from "../models/retry.ts";
import { addCheckpoint } from "../session/folder.ts";
import type { Agent, RequestLease, Toolset } from "./agent.ts";
import { callerOf } from "./calls.ts";
import words from "./compaction.md";
import { type ContextSize, contextSize, messageTokens, scaledFor } from "./context-size.ts";
import { reportFailure } from "./model-failure.ts";
import { specsOf } from "./model-request.ts";
import { assumeUsage, requestNeed, settleRequest } from "./request-need.ts";
import { shortened } from "./shortened.ts";

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
  let lease = FREE;
  const start = () =>
    session.append("session.compaction_start", {
      ...sizes,
      currentTokens: before.currentTokens,
      ...(input.trigger === "manual" ? {} : { tokenLimit: before.tokenLimit, trigger: input.trigger }),
      prompt: lease.prompt && { ...lease.prompt, model: agent.model().id },
    });
  let used: Summary["used"] | undefined;
  let hasStarted = false;
  try {
    await askHooks(agent, input);
    lease = await reserved(agent, input);
    start();
    hasStarted = true;
    const answer = await summarise(agent, input, lease);
    used = answer.used;
    const { summary } = answer;
    if (summary.trim() === "") throw new AppError("model_failed", "The model returned no summary.");
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
      compactionTokensUsed: used,
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
    if (!hasStarted) start(); // It did not fit: every end has a start.
    // What it has cost is on the bill, whatever came of it.
    session.append("session.compaction_complete", {
      success: false,
      error: messageOf(error),
      compactionTokensUsed: used,
    });
    throw error;
  }
}

async function askHooks(agent: Agent, { trigger, customInstructions = "", signal }: CompactionInput): Promise<void> {
  if (agent.hooks.isEmpty) return;
  const details = { trigger: trigger === "manual" ? trigger : "auto", customInstructions } as const;
  const output = await agent.hooks.run("preCompact", details, { caller: callerOf(agent), signal });
  if (output?.decision === "block")
    throw new AppError(
      "invalid_params",
      `A preCompact hook refused the summary: ${output.reason ?? "it gave no reason"}`,
    );
}

type CompactionEnd = EventData<"session.compaction_complete">;

interface Summary {
  summary: string;
  used: NonNullable<CompactionEnd["compactionTokensUsed"]>;
}

const FREE: RequestLease = {
  isLast: false,
  maxOutputTokens: undefined,
  prompt: undefined,
  settle: () => undefined,
  assume: () => undefined,
  again: async () => FREE,
};

/** A person who asks for a summary asks outside of any run, so no budget of a run holds. */
async function reserved(agent: Agent, input: CompactionInput): Promise<RequestLease> {
  if (input.trigger === "manual") return FREE;
  return await agent.budget.reserveRequest(() => requestNeed(agent, input), input);
}

async function summarise(agent: Agent, input: CompactionInput, first: RequestLease): Promise<Summary> {
  const { session, slot } = agent;
  const choice = agent.model();
  let lease = first;
  let summary = "";
  let end: Extract<Part, { type: "end" }> | undefined;
  const sent = () => ({ lease, choice, written: Buffer.byteLength(summary) });
  try {
    await slot.enter(input.signal);
    const startedAt = session.world.now();
    if (lease.prompt) await session.log.recorded(input);
    const options: RetryOptions = {
      signal: input.signal,
      onPart: (part) => {
        if (part.type === "text") summary += part.delta;
        if (part.type === "end") end = part;
      },
      onFailure: (failure) => reportFailure(agent, failure, { choice, startedAt, initiator: "agent" }),
      onRestart: () => (summary = ""),
      onWasted: () => assumeUsage(agent, sent()),
    };
    await withLess(input, async (share) => {
      await withRetries(choice.provider, requestFor(agent, input, { lease, choice, share }), {
        ...options,
        renew: async () => {
          lease = await slot.waiting(() => lease.again(input), input.signal);
          return requestFor(agent, input, { lease, choice, share });
        },
      });
    });
    const usage = end?.usage ?? NO_USAGE;
    const totalNanoAiu = settleRequest(agent, usage, sent());
    const duration = session.world.now() - startedAt;
    const answeredBy = end?.model === choice.wireModel ? undefined : end?.model;
    return { summary, used: { ...usage, duration, model: choice.id, answeredBy, copilotUsage: { totalNanoAiu } } };
  } finally {
    lease.settle(); // Unless the answer has done so.
    slot.leave();
  }
}

const SMALLEST_SHARE = 1 / 16;

/** The history is too long for the request that is to make it shorter: then its newest part has to do. */
async function withLess({ trigger }: CompactionInput, request: (share: number) => Promise<void>): Promise<void> {
  for (let share = trigger === "context_limit_retry" ? 1 / 2 : 1; ; share /= 2) {
    try {
      return await request(share);
    } catch (error) {
      const isTooLong = error instanceof ModelCallFailed && error.errorType === "context_limit";
      if (!isTooLong || share <= SMALLEST_SHARE) throw error;
    }
  }
}

function requestFor(
  agent: Agent,
  input: CompactionInput,
  { lease, choice, share }: { lease: RequestLease; choice: ModelChoice; share: number },
): ModelRequest {
  const { session, settings } = agent;
  const task = input.customInstructions ? `${words.trim()}\n\n${input.customInstructions}` : words.trim();
  return {
    model: choice.wireModel,
    system: input.system,
    messages: [...shortened(session.state.completeMessages(), share), { role: "user", content: task }],
    tools: specsOf(input.toolset),
    toolChoice: "none",
    stream: settings.streaming,
    maxOutputTokens: lease.maxOutputTokens,
    headers: { "x-initiator": "agent", "x-interaction-type": "conversation-compaction" },
  };
}

/** Drops the oldest messages until the rest fits, never between a call and its result. False when none had to be or could be dropped. */
export function truncate(agent: Agent, input: Omit<CompactionInput, "trigger">, most?: number): boolean {
  const { session } = agent;
  const size = contextSize(agent, input);
  const limit = most ?? agent.settings.compaction.dropAt * size.tokenLimit;
  const { messages } = session.state;
  const scaled = scaledFor(agent);
  let dropped = { messages: 0, tokens: 0 };
  let tokens = 0;
  for (const [index, message] of messages.slice(0, -1).entries()) {
    if (size.currentTokens - dropped.tokens <= limit) break;
    tokens += scaled(messageTokens(message));
    if (messages[index + 1]?.role !== "tool") dropped = { messages: index + 1, tokens };
  }
  if (dropped.messages === 0) return false;
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
  return true;
}

function titleOf({ session }: Agent): string {
  return session.root.state.title ?? `Session ${session.root.id.slice(0, 8)}`;
}
