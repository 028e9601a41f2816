/** Compacting, rewinding and clearing the conversation. */
import type { Result } from "@retinue/protocol";
import type { HostedSession } from "../../host/hosted-session.ts";
import { compactNow, stopCompaction } from "../../host/manual-compaction.ts";
import { clearContext, cutBack, isBusy } from "../../host/rewind.ts";
import { askBeside } from "../../modes/side-question.ts";
import handoffWords from "../../modes/words/handoff.md";
import { eventOf } from "../../store/stored-event.ts";
import { type Handlers, hosted } from "../handler.ts";

export const historyHandlers: Handlers = {
  "session.history.compact": async (params, scope) =>
    await compactNow(hosted(params, scope), { ...params, signal: scope.signal }),
  "session.history.abortManualCompaction": (params, scope) => ({ aborted: stopCompaction(hosted(params, scope)) }),
  // An automatic compaction is part of its turn: only stopping the turn stops it.
  "session.history.cancelBackgroundCompaction": (params, scope) => {
    hosted(params, scope);
    return { cancelled: false };
  },
  "session.history.summarizeForHandoff": async (params, scope) => {
    const { main } = hosted(params, scope);
    return { summary: await askBeside(main, handoffWords.trim(), scope) };
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
  "session.history.listRewindPoints": async (params, scope) => {
    const target = hosted(params, scope);
    return {
      fileChangeTrackingEnabled: false,
      ...(isBusy(target) ? { unavailableReason: "session-busy" as const } : {}),
      points: await rewindPoints(target),
    };
  },
  "session.history.previewRewind": (params, scope) => {
    hosted(params, scope);
    return { available: false, reason: "file-change-tracking-disabled", fileCount: 0, files: [] };
  },
  "session.history.clearContext": async (params, scope) => ({
    messagesCleared: await clearContext(hosted(params, scope), { prompt: params.prompt }),
  }),
};

async function rewindPoints({
  session,
  store,
}: HostedSession): Promise<Result<"session.history.listRewindPoints">["points"]> {
  await session.log.committed();
  const events = await store.events.read(session.id, { sessionId: session.id });
  return events.flatMap((event) => {
    const prompt = eventOf(event, "user.message");
    if (!prompt) return [];
    const { id, timestamp, data } = prompt;
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
