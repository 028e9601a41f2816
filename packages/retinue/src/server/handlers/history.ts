/** Shortening, cutting and clearing what the model remembers. */
import { AppError, type EventData, type Result } from "@retinue/protocol";
import { compact } from "../../loop/compaction.ts";
import { type Handlers, hosted } from "../handler.ts";
import type { HostedSession } from "../hosted-session.ts";
import { cutBack, isBusy, refuseWhileBusy } from "../rewind.ts";
import { askBeside } from "../side-question.ts";
import handoffWords from "../words/handoff.md";
import { enqueue } from "./sessions.ts";

/** Compactions that a client asked for and that are under way. */
const manual = new WeakMap<HostedSession, AbortController>();

export const historyHandlers: Handlers = {
  "session.history.compact": async (params, scope) =>
    await compactNow(hosted(params, scope), { ...params, signal: scope.signal }),
  "session.history.abortManualCompaction": (params, scope) => {
    const running = manual.get(hosted(params, scope));
    running?.abort();
    return { aborted: running !== undefined };
  },
  // An automatic compaction is a part of the turn that needs it: only stopping the turn stops it.
  "session.history.cancelBackgroundCompaction": (params, scope) => {
    hosted(params, scope);
    return { cancelled: false };
  },
  "session.history.summarizeForHandoff": async (params, scope) => {
    const { tree } = hosted(params, scope);
    return { summary: await askBeside(tree.main, handoffWords.trim(), scope) };
  },

  "session.history.truncate": async (params, scope) => await cutBack(hosted(params, scope), params.eventId),
  "session.history.rewind": async (params, scope) => {
    const target = hosted(params, scope);
    const nothing = { restoredFiles: [], skippedFiles: [] };
    if (params.mode === "conversation-and-files") return { outcome: "file-change-tracking-disabled", ...nothing };
    if (isBusy(target)) return { outcome: "session-busy", ...nothing };
    const { eventsRemoved, checkpointCleanupError } = await cutBack(target, params.eventId);
    if (checkpointCleanupError === undefined) return { outcome: "success", eventsRemoved, ...nothing };
    return { outcome: "checkpoint-cleanup-failed", eventsRemoved, ...nothing, error: checkpointCleanupError };
  },
  "session.history.listRewindPoints": (params, scope) => {
    const target = hosted(params, scope);
    return {
      fileChangeTrackingEnabled: false,
      ...(isBusy(target) ? { unavailableReason: "session-busy" as const } : {}),
      points: rewindPoints(target),
    };
  },
  "session.history.previewRewind": (params, scope) => {
    hosted(params, scope);
    return { available: false, reason: "file-change-tracking-disabled", fileCount: 0, files: [] };
  },
  "session.history.clearContext": (params, scope) => ({ messagesCleared: clearContext(hosted(params, scope), params.prompt) }),
};

export async function compactNow(
  target: HostedSession,
  { customInstructions, signal }: { customInstructions?: string; signal: AbortSignal },
): Promise<Result<"session.history.compact">> {
  refuseWhileBusy(target, "be compacted");
  if (manual.has(target)) refuseSecond();
  const controller = new AbortController();
  manual.set(target, controller);
  const { session, tree } = target;
  try {
    const toolset = await tree.main.tools();
    const system = session.state.systemPrompt ?? (await tree.main.systemPrompt(toolset));
    const stop = AbortSignal.any([signal, controller.signal]);
    const done = await compact(tree.main, { system, toolset, signal: stop, trigger: "manual", customInstructions });
    const { summary, tokensRemoved, messagesRemoved, size } = done;
    const contextWindow = { ...size, messagesLength: session.state.messages.length };
    return { success: true, tokensRemoved, messagesRemoved, summaryContent: summary, contextWindow };
  } finally {
    manual.delete(target);
    session.log.flush();
  }
}

function refuseSecond(): never {
  throw new AppError("session_invalid", "A compaction is already under way.");
}

/** Returns how many messages the model forgets. */
export function clearContext(target: HostedSession, prompt: string): number {
  refuseWhileBusy(target, "be cleared");
  const { session } = target;
  const messagesCleared = session.state.messages.length;
  session.append("session.context_cleared", { messagesCleared, ...(prompt ? { initialMessage: prompt } : {}) });
  session.log.flush();
  if (prompt) enqueue(target, [{ prompt }], {});
  return messagesCleared;
}

function rewindPoints({ session, tree }: HostedSession): Result<"session.history.listRewindPoints">["points"] {
  session.log.flush();
  const prompts = tree.store.events(session.id, { sessionId: session.id }).filter(({ type }) => type === "user.message");
  return prompts.flatMap(({ json }) => {
    const { id, timestamp, data } = JSON.parse(json) as { id: string; timestamp: string; data: EventData<"user.message"> };
    const isAutopilotContinuation = data.isAutopilotContinuation === true;
    if (data.delivery === "steering" || (data.source !== undefined && !isAutopilotContinuation)) return [];
    return [
      {
        eventId: id,
        userMessage: data.content,
        timestamp,
        canRestoreFiles: false,
        fileCount: 0,
        turnChangedFiles: false,
        linesAdded: 0,
        linesRemoved: 0,
        isAutopilotContinuation,
      },
    ];
  });
}
