/** Events about the context of a session: how full it is, what was summarised, dropped or cut, and how a run ended. */
import * as z from "zod";
import { byName } from "../method.ts";
import { count, flag, lazy, open, text } from "../schema.ts";
import { ResultType } from "../tool-result.ts";
import { event } from "./event.ts";

export const tokenCounts = () => ({
  systemTokens: count(),
  conversationTokens: count(),
  toolDefinitionsTokens: count(),
});

/** What a model request may cost, estimated from the length of its prompt and of what has come of an answer. Ours. */
export const EstimatedUsage = lazy(() =>
  open({ model: z.string(), inputTokens: z.number(), outputTokens: z.number(), nanoAiu: z.number() }),
);

/** What a request beside the conversation used. */
const RequestUsage = lazy(() =>
  open({
    model: text(),
    inputTokens: count(),
    outputTokens: count(),
    cacheReadTokens: count(),
    cacheWriteTokens: count(),
    duration: count(),
    /** The model that the endpoint says has answered, when it is not the one that was asked. Ours. */
    answeredBy: text(),
    copilotUsage: open({ totalNanoAiu: z.number() }).optional(),
  }),
);

const CompactionTrigger = lazy(() =>
  z.enum(["threshold", "context_limit_retry", "manual", "memory_pressure", "model_switch"]),
);

export const CONTEXT_EVENTS = byName(
  event("session.usage_info", {
    persisted: false,
    summary: "How full the context is, before each model call.",
    data: () =>
      open({
        currentTokens: z.number(),
        tokenLimit: z.number(),
        messagesLength: z.number(),
        isInitial: flag(),
        ...tokenCounts(),
      }),
  }),
  event("session.usage_checkpoint", {
    persisted: true,
    summary:
      "The running cost of the session, noted with a request whose usage is not known, or that an MCP server made.",
    data: () =>
      open({
        totalNanoAiu: z.number(),
        totalPremiumRequests: count(),
        /** A request of which the endpoint has not said what it used: it limits, and is not in the total. Ours. */
        unreported: EstimatedUsage().optional(),
        /** A request of an MCP server to the session's model. Ours. */
        sampled: RequestUsage().optional(),
      }),
  }),
  event("session.compaction_start", {
    persisted: true,
    summary: "The conversation is being summarised.",
    data: () =>
      open({
        currentTokens: count(),
        tokenLimit: count(),
        model: text(),
        trigger: CompactionTrigger().optional(),
        /** Where a budget limits the agent. Ours. */
        prompt: EstimatedUsage().optional(),
        ...tokenCounts(),
      }),
  }),
  event("session.compaction_complete", {
    persisted: true,
    summary: "The summary is in place, or could not be made.",
    data: () =>
      open({
        success: z.boolean(),
        error: text(),
        statusCode: count(),
        summaryContent: text(),
        checkpointNumber: count(),
        checkpointPath: text(),
        customInstructions: text(),
        trigger: CompactionTrigger().optional(),
        tokenLimit: count(),
        preCompactionTokens: count(),
        postCompactionTokens: count(),
        preCompactionMessagesLength: count(),
        messagesRemoved: count(),
        tokensRemoved: count(),
        behaviorModelId: text(),
        compactionTokensUsed: RequestUsage().optional(),
        ...tokenCounts(),
      }),
  }),
  event("session.truncation", {
    persisted: true,
    summary: "Old messages were dropped because the prompt did not fit.",
    data: () =>
      open({
        performedBy: z.string(),
        tokenLimit: z.number(),
        preTruncationTokensInMessages: z.number(),
        preTruncationMessagesLength: z.number(),
        postTruncationTokensInMessages: z.number(),
        postTruncationMessagesLength: z.number(),
        tokensRemovedDuringTruncation: z.number(),
        messagesRemovedDuringTruncation: z.number(),
      }),
  }),
  event("session.snapshot_rewind", {
    persisted: false,
    summary: "The log was cut back to before an event.",
    data: () => open({ upToEventId: z.string(), eventsRemoved: z.number() }),
  }),
  event("session.context_cleared", {
    persisted: true,
    summary: "The model starts over without the earlier conversation.",
    data: () => open({ messagesCleared: z.number(), initialMessage: text() }),
  }),
  event("session.task_complete", {
    persisted: true,
    summary: "The model said in autopilot that the task is done; with `success: false` that does not count.",
    data: () =>
      open({
        success: flag(),
        summary: text(),
        outcome: z.enum(["completed", "continue", "blocked"]).optional(),
        reason: text(),
      }),
  }),
  event("session.autopilot_ended", {
    persisted: true,
    summary: "Autopilot sends no more reminders for the user's last prompt. Ours.",
    data: () =>
      open({
        /** `limit`: out of reminders. `error`: one that is not the model's. `gates`: they failed too often. */
        reason: z.enum(["completed", "limit", "budget", "error", "aborted", "gates"]),
        /** Reminders that were sent. */
        continuations: z.number(),
        limit: z.number(),
        message: z.string(),
      }),
  }),
  event("session.completion_receipt", {
    persisted: true,
    summary: "How a run ended: why it stopped and what its calls came to.",
    data: () =>
      open({
        schemaVersion: z.number(),
        sourceEventId: z.string(),
        attempt: z.number(),
        stopReason: z.enum(["natural", "terminal_tool", "agent_stop_block_limit"]),
        successfulToolCount: z.number(),
        failedToolCount: z.number(),
        eventRange: open({ startEventId: z.string(), endEventId: z.string() }),
        finalTool: open({
          toolCallId: z.string(),
          toolName: text(),
          status: ResultType(),
          exitCode: count(),
        }).optional(),
      }),
  }),
);
