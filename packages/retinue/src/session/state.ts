/**
 * What one session is now: a fold over its events, kept up to date as they are appended and rebuilt by replay.
 *
 * Owns the conversation as the model sees it, the open calls, mode, model, title and usage. It decides nothing.
 */
import type { EventData, EventType } from "@retinue/protocol";
import type { Message, Reasoning, UserPart } from "../models/provider.ts";
import { AutopilotSoFar } from "./autopilot-so-far.ts";
import { CallIds } from "./call-ids.ts";
import { CurrentPrompt } from "./current-prompt.ts";
import { GatesSoFar } from "./gates-so-far.ts";
import type { OpenCall } from "./open-call.ts";
import { RunSoFar } from "./run-so-far.ts";
import { UsageTotals } from "./usage.ts";
import { compactedMessage, wasInterrupted } from "./wording.ts";

export type Mode = "interactive" | "plan" | "autopilot";

export class SessionState {
  /** The session's own; what holds now is `modeNow`. */
  mode: Mode = "interactive";
  /** What the current prompt says about its own interaction. */
  readonly prompt = new CurrentPrompt();
  model: string | undefined;
  reasoningEffort: string | undefined;
  title: string | undefined;
  selectedAgent: string | undefined;
  /** What the session had before an agent with a model of its own was selected. */
  modelBefore: { model: string; reasoningEffort?: string } | undefined;
  startTime: string | undefined;
  /** The current interaction. */
  interactionId: string | undefined;
  originatingMessageId: string | undefined;
  systemPrompt: string | undefined;
  hasStarted = false;
  userPrompts = 0;
  readonly usage = new UsageTotals();
  readonly openCalls = new Map<string, OpenCall>();
  /** Of the whole tree, in the state of its root session. */
  readonly callIds = new CallIds();
  readonly filesModified = new Set<string>();
  linesAdded = 0;
  linesRemoved = 0;
  checkpoints = 0;
  readonly autopilot = new AutopilotSoFar();
  readonly gates = new GatesSoFar();
  lastAssistantText = "";
  /** Since the last `subagent.started`. */
  run = new RunSoFar();
  /** The model owes an answer: the last message is not its own. */
  isModelDue = false;
  /** What the last run failed with; undefined when it did not. */
  lastError: string | undefined;

  /** Of a sub-agent: the message that plans and that its run follows from. */
  planOf: string | undefined;

  #messages: Message[] = [];
  /** Messages that came while calls were open; they follow the results, because providers want each result right after its call. */
  #afterResults: Message[] = [];
  #compactionCut = 0;
  #prompts: string[] = [];

  /** Of the main agent: a prompt may have a mode of its own. What holds for any agent is in mode-now.ts. */
  get modeNow(): Mode {
    return this.prompt.mode ?? this.mode;
  }

  /** The history for the model. Never with a call that has no result. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** For a request while calls are open: each of them gets a result that says it was interrupted. */
  completeMessages(): readonly Message[] {
    if (this.openCalls.size === 0) return this.#messages;
    const missing = [...this.openCalls.keys()].map(
      (callId): Message => ({ role: "tool", callId, text: wasInterrupted, failed: true }),
    );
    return [...this.#messages, ...missing];
  }

  apply(event: { type: EventType; data: object }): void {
    this.usage.apply(event);
    this.prompt.apply(event);
    this.autopilot.apply(event);
    this.gates.apply(event);
    const fold = FOLDS[event.type] as ((state: SessionState, data: object) => void) | undefined;
    fold?.(this, event.data);
  }

  onUserMessage(data: EventData<"user.message">): void {
    this.interactionId = data.interactionId ?? this.interactionId;
    this.lastError = undefined;
    if (data.source === undefined && data.delivery !== "steering") {
      this.userPrompts++;
      this.originatingMessageId = data.messageId;
      this.title ??= titleOf(data.content);
    }
    const text = data.transformedContent ?? data.content;
    if (data.content !== "") this.#prompts.push(data.content);
    this.#promptModel(withImages(text, data.attachments));
  }

  onNotification(data: EventData<"system.notification">): void {
    this.#promptModel(data.content);
  }

  onAssistantMessage(data: EventData<"assistant.message">): void {
    const calls = (data.toolRequests ?? []).map(({ toolCallId, name, arguments: args }) => ({
      id: toolCallId,
      name,
      arguments: JSON.stringify(args ?? {}),
    }));
    this.#messages.push({
      role: "assistant",
      text: data.content,
      calls,
      reasoning: reasoningOf(data),
    });
    if (data.content !== "") this.lastAssistantText = data.content;
    this.run.onAssistantMessage(data);
    for (const request of data.toolRequests ?? []) {
      this.openCalls.set(request.toolCallId, {
        id: request.toolCallId,
        name: request.name,
        arguments: request.arguments ?? {},
        turnId: data.turnId ?? "0",
        interactionId: data.interactionId ?? "",
        isStarted: false,
      });
    }
    this.isModelDue = (data.toolRequests ?? []).length > 0;
  }

  onCallEnded(data: EventData<"tool.execution_complete">): void {
    if (data.isUserRequested) this.#addUserMessage(data.modelText ?? "");
    const call = this.openCalls.get(data.toolCallId);
    if (!call) return;
    this.openCalls.delete(data.toolCallId);
    this.run.onCallEnded(data);
    if (data.success && FILE_WRITERS.has(call.name)) this.#onFileChanged(call, data.result?.detailedContent ?? "");
    if (data.error?.code === "rejected") this.isModelDue = false;
    const text = data.modelText ?? (data.success ? (data.result?.content ?? "") : (data.error?.message ?? ""));
    this.#messages.push({ role: "tool", callId: data.toolCallId, text, ...(data.success ? {} : { failed: true }) });
    const parts = (data.result?.binaryResultsForLlm ?? []).flatMap((each): UserPart[] =>
      each.type === "image" && "data" in each ? [{ type: "image", mimeType: each.mimeType, data: each.data }] : [],
    );
    if (parts.length > 0) {
      this.#afterResults.push({
        role: "user",
        content: [{ type: "text", text: "The image of the result above:" }, ...parts],
      });
    }
    if (this.openCalls.size === 0) this.#closeBatch();
  }

  onHookEnded(data: EventData<"hook.end">): void {
    const context = contextOf(data.output);
    if (context === undefined) return;
    if (data.hookType === "sessionStart") {
      // Context from the host's hook comes before the first prompt.
      this.#messages.splice(Math.max(0, this.#messages.length - 1), 0, { role: "user", content: context });
    } else if (data.hookType === "preToolUse" || data.hookType === "postToolUseFailure") {
      this.#promptModel(context);
    }
  }

  onCompactionStarted(): void {
    // An open call stays, so that its result can follow it.
    const isWhole = this.openCalls.size === 0;
    this.#compactionCut = isWhole
      ? this.#messages.length
      : this.#messages.findLastIndex(({ role }) => role === "assistant");
  }

  onCompactionEnded(data: EventData<"session.compaction_complete">): void {
    if (!data.success) return;
    this.checkpoints = data.checkpointNumber ?? this.checkpoints;
    const summary = compactedMessage(this.#prompts, data.summaryContent ?? "");
    this.#messages = [{ role: "user", content: summary }, ...this.#messages.slice(this.#compactionCut)];
    this.#compactionCut = 0;
  }

  onTruncated(data: EventData<"session.truncation">): void {
    this.#messages = this.#messages.slice(data.messagesRemovedDuringTruncation);
  }

  onCleared(): void {
    this.#messages = [];
    this.#afterResults = [];
    this.#prompts = [];
    this.openCalls.clear();
    this.isModelDue = false;
  }

  /** The detail that the log has of a written file is its diff. */
  #onFileChanged(call: OpenCall, diff: string): void {
    const path =
      typeof call.arguments === "object" && call.arguments !== null && "path" in call.arguments
        ? call.arguments.path
        : undefined;
    if (typeof path === "string") this.filesModified.add(path);
    for (const line of diff.split("\n")) {
      if (line.startsWith("+") && !line.startsWith("+++")) this.linesAdded++;
      else if (line.startsWith("-") && !line.startsWith("---")) this.linesRemoved++;
    }
  }

  #promptModel(content: string | UserPart[]): void {
    this.isModelDue = true;
    this.#addUserMessage(content);
  }

  /** The model reads it with the next prompt, and owes no answer to it. */
  #addUserMessage(content: string | UserPart[]): void {
    if (content === "") return;
    const message: Message = { role: "user", content };
    if (this.openCalls.size > 0) this.#afterResults.push(message);
    else this.#messages.push(message);
  }

  #closeBatch(): void {
    this.#messages.push(...this.#afterResults);
    this.#afterResults = [];
  }
}

const FILE_WRITERS: ReadonlySet<string> = new Set(["create", "edit"]);

/** One entry per event that changes the state. */
const FOLDS: { [T in EventType]?: (state: SessionState, data: EventData<T>) => void } = {
  "session.start": (state, data) => {
    state.startTime = data.startTime;
    state.model = data.selectedModel ?? state.model;
    state.reasoningEffort = data.reasoningEffort ?? state.reasoningEffort;
  },
  "session.model_change": (state, data) => {
    const before = data.previousModel
      ? { model: data.previousModel, reasoningEffort: data.previousReasoningEffort ?? undefined }
      : undefined;
    state.modelBefore = data.cause === "agent_selected" ? (state.modelBefore ?? before) : undefined;
    state.model = data.newModel;
    state.reasoningEffort = data.reasoningEffort ?? undefined;
  },
  "session.mode_changed": (state, data) => {
    state.mode = data.newMode;
  },
  "session.title_changed": (state, data) => {
    state.title = data.title;
  },
  "subagent.started": (state, data) => {
    state.run = new RunSoFar();
    state.planOf = data.planOf;
  },
  "subagent.selected": (state, data) => {
    state.selectedAgent = data.agentName;
  },
  "subagent.deselected": (state) => {
    state.selectedAgent = undefined;
  },
  "system.message": (state, data) => {
    state.systemPrompt = data.content;
    state.hasStarted = true;
  },
  "user.message": (state, data) => state.onUserMessage(data),
  "system.notification": (state, data) => state.onNotification(data),
  "assistant.message": (state, data) => state.onAssistantMessage(data),
  "tool.execution_start": (state, data) => {
    const call = state.openCalls.get(data.toolCallId);
    if (call) call.isStarted = true;
  },
  "permission.requested": (state, data) => {
    const call = state.openCalls.get(data.permissionRequest.toolCallId ?? "");
    if (call)
      call.permission = {
        requestId: data.requestId,
        request: data.permissionRequest,
        isDecided: false,
        isApproved: false,
      };
  },
  "permission.completed": (state, data) => {
    const permission = state.openCalls.get(data.toolCallId ?? "")?.permission;
    if (!permission) return;
    permission.isDecided = true;
    permission.isApproved = data.result.kind.startsWith("approved");
  },
  "external_tool.requested": (state, data) => {
    const call = state.openCalls.get(data.toolCallId);
    if (call) call.external = { requestId: data.requestId, isCompleted: false };
  },
  "external_tool.completed": (state, data) => {
    for (const { external } of state.openCalls.values())
      if (external?.requestId === data.requestId) external.isCompleted = true;
  },
  "tool.execution_complete": (state, data) => state.onCallEnded(data),
  abort: (state) => {
    state.isModelDue = false;
  },
  "session.error": (state, data) => {
    state.isModelDue = false;
    state.lastError = data.message;
  },
  "session.task_complete": (state, data) => {
    if (data.success !== false) state.isModelDue = false;
  },
  "hook.end": (state, data) => state.onHookEnded(data),
  "session.compaction_start": (state) => state.onCompactionStarted(),
  "session.compaction_complete": (state, data) => state.onCompactionEnded(data),
  "session.truncation": (state, data) => state.onTruncated(data),
  "session.context_cleared": (state) => state.onCleared(),
};

function reasoningOf({ reasoningText: text, reasoningBlocks }: EventData<"assistant.message">): Reasoning | undefined {
  if (!text && !reasoningBlocks) return undefined;
  const { provider, blocks } = reasoningBlocks ?? {};
  return { text, blocks: provider !== undefined && blocks ? { provider, items: blocks } : undefined };
}

/** The first line of the first prompt, short enough for a list. */
function titleOf(prompt: string): string {
  const [line = ""] = prompt.trim().split("\n", 1);
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

function contextOf(output: unknown): string | undefined {
  if (typeof output !== "object" || output === null || !("additionalContext" in output)) return undefined;
  const { additionalContext } = output;
  return typeof additionalContext === "string" && additionalContext !== "" ? additionalContext : undefined;
}

function withImages(text: string, attachments: EventData<"user.message">["attachments"]): string | UserPart[] {
  const images: UserPart[] = [];
  for (const attachment of attachments ?? []) {
    if (attachment.type === "blob" && attachment.data && attachment.mimeType.startsWith("image/")) {
      images.push({ type: "image", mimeType: attachment.mimeType, data: attachment.data });
    }
  }
  return images.length === 0 ? text : [{ type: "text", text }, ...images];
}
