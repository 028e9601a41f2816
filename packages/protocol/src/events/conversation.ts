/** Events of the conversation: prompts, turns, answers and their deltas, model calls. */
import * as z from "zod";
import { Attachments } from "../attachments.ts";
import { byName } from "../method.ts";
import { PromptTerms } from "../prompt-terms.ts";
import { count, flag, json, lazy, type Of, open, PromptMode, ReasoningSummary, strings, text } from "../schema.ts";
import { EstimatedUsage } from "./context.ts";
import { event } from "./event.ts";

/** A call as the model asked for it. */
export const ToolRequest = lazy(() =>
  open({
    toolCallId: z.string(),
    name: z.string(),
    arguments: json().optional(),
    type: z.enum(["function", "custom"]).optional(),
    toolTitle: text(),
    intentionSummary: z.string().nullish(),
    mcpServerName: text(),
    mcpToolName: text(),
  }),
);
export type ToolRequest = Of<typeof ToolRequest>;

/** Why the runtime sends the model a message. */
export const NotificationKind = lazy(() =>
  z.discriminatedUnion("type", [
    open({
      type: z.literal("agent_completed"),
      agentId: z.string(),
      agentType: z.string(),
      status: z.enum(["completed", "failed"]),
      displayName: text(),
      description: text(),
      prompt: text(),
    }),
    open({
      type: z.literal("agent_idle"),
      agentId: z.string(),
      agentType: z.string(),
      displayName: text(),
      description: text(),
    }),
    open({
      type: z.literal("shell_completed"),
      shellId: z.string(),
      exitCode: count(),
      description: text(),
    }),
    open({ type: z.literal("shell_detached_completed"), shellId: z.string(), description: text() }),
    open({
      type: z.literal("new_inbox_message"),
      entryId: z.string(),
      senderName: z.string(),
      senderType: z.string(),
      summary: z.string(),
    }),
    open({
      type: z.literal("instruction_discovered"),
      sourcePath: z.string(),
      triggerFile: z.string(),
      triggerTool: z.string(),
      description: text(),
    }),
    open({ type: z.literal("factory_completed"), runId: z.string(), factoryName: z.string(), status: z.string() }),
    open({ type: z.literal("unclassified"), metadata: json().optional() }),
  ]),
);
export type NotificationKind = Of<typeof NotificationKind>;

const AbortReason = lazy(() =>
  z.enum(["user_initiated", "remote_command", "user_abort", "autopilot_credit_limit", "subagent_cancelled"]),
);

const promptEvents = byName(
  event("user.message", {
    persisted: true,
    summary: "A prompt enters the conversation.",
    data: () =>
      open({
        content: z.string(),
        /** What the model gets, when it differs. */
        transformedContent: text(),
        messageId: text(),
        interactionId: text(),
        turnId: text(),
        delivery: z.enum(["idle", "steering", "queued"]).optional(),
        agentMode: PromptMode().optional(),
        /** `system`, `agent-<id>` for a sub-agent's prompt, or a client's own word. */
        source: text(),
        attachments: Attachments().optional(),
        /** What the prompt demands of its interaction. Ours. */
        terms: PromptTerms().optional(),
        isAutopilotContinuation: flag(),
        /** The agent wanted to stop, and a stop hook or a gate sent it on. Ours. */
        isSentBack: flag(),
        parentAgentTaskId: text(),
        supportedNativeDocumentMimeTypes: strings().optional(),
        nativeDocumentPathFallbackPaths: strings().optional(),
      }),
  }),
  event("system.message", {
    persisted: true,
    summary: "The system prompt in force.",
    data: () =>
      open({ content: z.string(), role: z.enum(["system", "developer"]), interactionId: text(), name: text() }),
  }),
  event("system.notification", {
    persisted: true,
    summary: "The runtime tells the model something, such as the end of a background agent.",
    data: () => open({ content: z.string(), kind: NotificationKind() }),
  }),
  event("pending_messages.modified", {
    persisted: false,
    summary: "The queue of prompts changed.",
    data: () => open({}),
  }),
  event("abort", {
    persisted: true,
    summary: "A run was cancelled.",
    data: () => open({ reason: AbortReason() }),
  }),
);

const answerEvents = byName(
  event("assistant.turn_start", {
    persisted: true,
    summary: "A turn begins; a model call follows.",
    data: () =>
      open({
        turnId: z.string(),
        interactionId: text(),
        model: text(),
        /** What its prompt may cost, where a budget limits the agent. Ours. */
        prompt: EstimatedUsage().optional(),
      }),
  }),
  event("assistant.turn_end", {
    persisted: true,
    summary: "The answer and all its calls are done, or were cut off.",
    data: () => open({ turnId: z.string(), model: text() }),
  }),
  event("assistant.message", {
    persisted: true,
    summary: "The whole answer of one turn: text and calls.",
    data: () =>
      open({
        messageId: z.string(),
        content: z.string(),
        toolRequests: z.array(ToolRequest()).optional(),
        model: text(),
        turnId: text(),
        interactionId: text(),
        /** The prompt that this answers. */
        originatingMessageId: text(),
        /** The `task` call that started the agent that speaks. */
        parentToolCallId: text(),
        apiCallId: text(),
        outputTokens: count(),
        /** What the model call used, so that totals survive a restart. Ours. */
        usage: open({
          inputTokens: z.number(),
          outputTokens: z.number(),
          cacheReadTokens: z.number(),
          cacheWriteTokens: z.number(),
          reasoningTokens: z.number(),
        }).optional(),
        /** What it cost. Ours. */
        totalNanoAiu: count(),
        /** The model that the endpoint says has answered, when it is not the one that was asked. Ours. */
        answeredBy: text(),
        /** What its request was estimated at, in tokens of four characters; `usage` has what it was. Ours. */
        estimatedTokens: count(),
        /** Ours. */
        apiDurationMs: count(),
        reasoningText: text(),
        reasoningBlocks: open({ provider: z.string(), blocks: z.array(json()).optional() }).optional(),
        reasoningOpaque: text(),
        encryptedContent: text(),
        phase: text(),
        requestId: text(),
      }),
  }),
  event("assistant.reasoning", {
    persisted: false,
    summary: "The whole reasoning text of a turn.",
    data: () => open({ reasoningId: z.string(), content: z.string() }),
  }),
  event("assistant.intent", {
    persisted: false,
    summary: "What the agent is about to do, in a few words.",
    data: () => open({ intent: z.string() }),
  }),
  event("assistant.idle", {
    persisted: false,
    summary: "The main agent's loop ended; background tasks may still run.",
    data: () => open({ aborted: flag() }),
  }),
);

const deltaEvents = byName(
  event("assistant.message_start", {
    persisted: false,
    summary: "The first piece of text is about to come.",
    data: () => open({ messageId: z.string(), phase: text() }),
  }),
  event("assistant.message_delta", {
    persisted: false,
    summary: "A piece of text.",
    data: () => open({ messageId: z.string(), deltaContent: z.string(), parentToolCallId: text() }),
  }),
  event("assistant.reasoning_delta", {
    persisted: false,
    summary: "A piece of reasoning.",
    data: () => open({ reasoningId: z.string(), deltaContent: z.string() }),
  }),
  event("assistant.tool_call_delta", {
    persisted: false,
    summary: "A piece of a call's arguments.",
    data: () =>
      open({
        toolCallId: z.string(),
        inputDelta: z.string(),
        toolName: text(),
        toolType: z.enum(["function", "custom"]).optional(),
      }),
  }),
  event("assistant.streaming_delta", {
    persisted: false,
    summary: "How many bytes of the answer have come.",
    data: () => open({ totalResponseSizeBytes: z.number() }),
  }),
);

const modelEvents = byName(
  event("assistant.usage", {
    persisted: false,
    summary: "What a model call used.",
    data: () =>
      open({
        model: z.string(),
        inputTokens: count(),
        outputTokens: count(),
        cacheReadTokens: count(),
        cacheWriteTokens: count(),
        reasoningTokens: count(),
        cost: count(),
        copilotUsage: open({ totalNanoAiu: z.number(), model: text() }).optional(),
        /** Milliseconds. */
        duration: count(),
        timeToFirstTokenMs: count(),
        outputTtftMs: count(),
        interTokenLatencyMs: count(),
        finishReason: text(),
        contentFilterTriggered: flag(),
        initiator: text(),
        interactionType: text(),
        isByok: flag(),
        isAuto: flag(),
        maxPromptTokens: count(),
        maxOutputTokens: count(),
        transport: z.enum(["http", "websocket"]).optional(),
        apiCallId: text(),
        apiEndpoint: text(),
        parentToolCallId: text(),
        reasoningEffort: text(),
        reasoningSummary: ReasoningSummary().optional(),
        numToolCalls: count(),
        availableToolCount: count(),
      }),
  }),
  event("model.call_failure", {
    persisted: false,
    summary: "One attempt of a model call failed.",
    data: () =>
      open({
        source: z.enum(["top_level", "subagent", "mcp_sampling"]),
        model: text(),
        statusCode: count(),
        failureKind: z.enum(["api", "transport"]).optional(),
        badRequestKind: z.enum(["bodyless", "structured_error"]).optional(),
        errorMessage: text(),
        errorType: text(),
        errorCode: text(),
        durationMs: count(),
        apiCallId: text(),
        apiEndpoint: text(),
        initiator: text(),
        interactionType: text(),
        isByok: flag(),
        isAuto: flag(),
        transport: z.enum(["http", "websocket"]).optional(),
        /** The first attempt is 1. Ours, like the next two. */
        attempt: count(),
        maxAttempts: count(),
        /** When it is tried again; absent after the last attempt. */
        retryInMs: count(),
      }),
  }),
  event("model.call_finished", {
    persisted: false,
    summary: "A model call ended, with all its attempts.",
    data: () =>
      open({
        turnId: z.string(),
        outcome: z.enum(["success", "error", "cancelled", "rejected"]),
        dispatchDurationMs: z.number(),
        editClassifierVersion: count(),
        interactionId: text(),
        containsBuiltInFileEditRequest: flag(),
      }),
  }),
);

export const CONVERSATION_EVENTS = { ...promptEvents, ...answerEvents, ...deltaEvents, ...modelEvents };
