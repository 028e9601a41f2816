/** Calls on the catalogue of stored sessions (`sessions.*`). */
import * as z from "zod";
import type { SessionEvent } from "../events/index.ts";
import { byName, empty, justSession, method, noParams } from "../method.ts";
import { count, flag, lazy, type Of, strings, text } from "../schema.ts";

/** Where a session worked. */
export const ListingContext = lazy(() =>
  z.object({
    cwd: z.string(),
    gitRoot: text(),
    repository: text(),
    hostType: z.enum(["github", "ado"]).optional(),
    branch: text(),
  }),
);

export const SessionListing = lazy(() =>
  z.object({
    sessionId: z.string(),
    /** ISO 8601. */
    startTime: z.string(),
    modifiedTime: z.string(),
    isRemote: z.boolean(),
    isDetached: flag(),
    summary: text(),
    name: text(),
    clientName: text(),
    context: ListingContext().optional(),
  }),
);
export type SessionListing = Of<typeof SessionListing>;

export const SessionFilter = lazy(() => z.object({ cwd: text(), gitRoot: text(), repository: text(), branch: text() }));
export type SessionFilter = Of<typeof SessionFilter>;

/** Events in a result are checked one by one with `parseEvent`, so that one bad event does not hide the rest. */
export const RawEvent = lazy(() => z.custom<SessionEvent>((value) => typeof value === "object" && value !== null));
export const EventList = lazy(() => z.object({ events: z.array(RawEvent()) }));

const maybeSession = lazy(() => z.object({ sessionId: text() }));
const sessionIds = lazy(() => z.object({ sessionIds: strings() }));

export const CATALOG_METHODS = byName(
  method("sessions.list", {
    summary: "Stored sessions, last used first.",
    params: () =>
      z.object({
        source: z.enum(["local", "remote", "all"]).optional(),
        metadataLimit: count(),
        filter: SessionFilter().optional(),
        includeDetached: flag(),
        throwOnError: flag(),
      }),
    result: () => z.object({ sessions: z.array(SessionListing()) }),
  }),
  method("sessions.getMetadata", {
    summary: "The listing of one session, if there is one.",
    params: justSession,
    result: () => z.object({ session: SessionListing().optional() }),
  }),
  method("sessions.enrichMetadata", {
    summary: "Fills in what short listings leave out.",
    params: () => z.object({ sessions: z.array(SessionListing()) }),
    result: () => z.object({ sessions: z.array(SessionListing()) }),
  }),
  method("sessions.fork", {
    summary: "Copies a session up to an event into a new one.",
    params: () => z.object({ sessionId: z.string(), toEventId: text(), name: text() }),
    result: () => z.object({ sessionId: z.string(), name: text() }),
  }),
  method("sessions.findByPrefix", {
    summary: "The one session whose id starts so.",
    params: () => z.object({ prefix: z.string() }),
    result: maybeSession,
  }),
  method("sessions.findByTaskId", {
    summary: "The session that a task belongs to.",
    params: () => z.object({ taskId: z.string() }),
    result: maybeSession,
  }),
  method("sessions.getLastForContext", {
    summary: "The session that was used last in a folder or repository.",
    params: () => z.object({ context: ListingContext().optional() }),
    result: maybeSession,
  }),
  method("sessions.getSizes", {
    summary: "Bytes per session.",
    params: noParams,
    result: () => z.object({ sizes: z.record(z.string(), z.number()) }),
  }),
  method("sessions.checkInUse", {
    summary: "Which of these sessions a living process has open.",
    params: sessionIds,
    result: () => z.object({ inUse: strings() }),
  }),
  method("sessions.close", {
    summary: "Closes a session that is open here.",
    params: justSession,
    result: empty,
  }),
  method("sessions.save", {
    summary: "Writes out what is still in memory.",
    params: justSession,
    result: empty,
  }),
  method("sessions.releaseLock", {
    summary: "Gives up the right to write a session.",
    params: justSession,
    result: empty,
  }),
  method("sessions.delete", {
    summary: "Erases a session with its log and folder.",
    params: justSession,
    result: empty,
  }),
  method("sessions.bulkDelete", {
    summary: "Erases several sessions; answers the bytes that each freed.",
    params: sessionIds,
    result: () => z.object({ freedBytes: z.record(z.string(), z.number()) }),
  }),
  method("sessions.pruneOld", {
    summary: "Erases sessions that were not used for some days.",
    params: () =>
      z.object({
        olderThanDays: z.number(),
        dryRun: flag(),
        includeNamed: flag(),
        excludeSessionIds: strings().optional(),
      }),
    result: () =>
      z.object({
        deleted: strings(),
        candidates: strings(),
        skipped: strings(),
        freedBytes: z.number(),
        dryRun: z.boolean(),
      }),
  }),
  method("sessions.getEventFilePath", {
    summary: "The file that holds a session's events.",
    params: justSession,
    result: () => z.object({ filePath: text() }),
  }),
  method("sessions.readPersistedEvents", {
    summary: "Reads stored events in pages, without opening the session.",
    params: () =>
      z.object({
        sessionId: z.string(),
        cursor: text(),
        max: count(),
        direction: z.enum(["forward", "backward"]).optional(),
      }),
    result: () =>
      z.object({
        events: z.array(RawEvent()),
        cursor: z.string(),
        hasMore: z.boolean(),
        cursorStatus: z.enum(["ok", "expired"]),
      }),
  }),
);
