/** Calls that shorten, cut or clear what the model remembers. */
import * as z from "zod";
import { byName, justSession, method, ofSession } from "../method.ts";
import { count, flag, lazy, type Of, strings, text } from "../schema.ts";

const anEvent = lazy(() => ofSession({ eventId: z.string() }));

const Unavailable = lazy(() => z.enum(["file-change-tracking-disabled", "session-busy", "unsupported-remote-session"]));

export const CompactionResult = lazy(() =>
  z.object({
    success: z.boolean(),
    tokensRemoved: z.number(),
    messagesRemoved: z.number(),
    summaryContent: text(),
    contextWindow: z
      .object({
        tokenLimit: z.number(),
        currentTokens: z.number(),
        messagesLength: z.number(),
        systemTokens: count(),
        conversationTokens: count(),
        toolDefinitionsTokens: count(),
      })
      .optional(),
  }),
);
export type CompactionResult = Of<typeof CompactionResult>;

const compaction = byName(
  method("session.history.compact", {
    summary: "Summarises the conversation and goes on from the summary.",
    params: () =>
      ofSession({
        customInstructions: text(),
        trigger: z.enum(["manual", "model_switch"]).optional(),
        tokenLimit: count(),
      }),
    result: CompactionResult,
  }),
  method("session.history.abortManualCompaction", {
    summary: "Stops a compaction that a client asked for.",
    params: justSession,
    result: () => z.object({ aborted: z.boolean() }),
  }),
  method("session.history.cancelBackgroundCompaction", {
    summary: "Stops an automatic compaction.",
    params: justSession,
    result: () => z.object({ cancelled: z.boolean() }),
  }),
  method("session.history.summarizeForHandoff", {
    summary: "A summary for somebody else to go on from.",
    params: justSession,
    result: () => z.object({ summary: z.string() }),
  }),
);

const rewinding = byName(
  method("session.history.truncate", {
    summary: "Drops an event and all that came after it.",
    params: anEvent,
    result: () =>
      z.object({
        eventsRemoved: z.number(),
        checkpointCleanupFailed: flag(),
        checkpointCleanupError: text(),
      }),
  }),
  method("session.history.listRewindPoints", {
    summary: "Prompts to which the session can go back.",
    params: justSession,
    result: () =>
      z.object({
        fileChangeTrackingEnabled: z.boolean(),
        unavailableReason: Unavailable().optional(),
        points: z.array(
          z.object({
            eventId: z.string(),
            userMessage: z.string(),
            timestamp: z.string(),
            canRestoreFiles: z.boolean(),
            fileCount: z.number(),
            turnChangedFiles: z.boolean(),
            linesAdded: z.number(),
            linesRemoved: z.number(),
            isAutopilotContinuation: z.boolean(),
          }),
        ),
      }),
  }),
  method("session.history.previewRewind", {
    summary: "Files that going back would change.",
    params: anEvent,
    result: () =>
      z.object({
        available: z.boolean(),
        reason: Unavailable().optional(),
        fileCount: z.number(),
        files: z.array(
          z.object({
            path: z.string(),
            changeType: z.enum(["created", "deleted", "modified"]),
            linesAdded: z.number(),
            linesRemoved: z.number(),
          }),
        ),
      }),
  }),
  method("session.history.rewind", {
    summary: "Goes back to a prompt.",
    params: () => ofSession({ eventId: z.string(), mode: z.enum(["conversation", "conversation-and-files"]) }),
    result: () =>
      z.object({
        outcome: z.string(),
        eventsRemoved: count(),
        restoredFiles: strings(),
        skippedFiles: z.array(z.object({ path: z.string(), reason: z.string() })),
        error: text(),
      }),
  }),
  method("session.history.clearContext", {
    summary: "Starts over without the earlier conversation.",
    params: () => ofSession({ prompt: z.string().default("") }),
    result: () => z.object({ messagesCleared: z.number() }),
  }),
);

export const HISTORY_METHODS = { ...compaction, ...rewinding };
