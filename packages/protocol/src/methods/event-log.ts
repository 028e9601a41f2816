/** Calls that read a session's events in pages. */
import * as z from "zod";
import { byName, justSession, method, ofSession, success } from "../method.ts";
import { count, flag, strings, text } from "../schema.ts";
import { RawEvent } from "./sessions-catalog.ts";

export const EVENT_LOG_METHODS = byName(
  method("session.eventLog.read", {
    summary: "Reads events from a cursor on, and may wait for new ones.",
    params: () =>
      ofSession({
        cursor: text(),
        max: count(),
        waitMs: count(),
        types: z.union([z.literal("*"), strings()]).optional(),
        agentScope: z.enum(["primary", "all"]).optional(),
        agentIds: strings().optional(),
        direction: z.enum(["forward", "backward"]).optional(),
        includeEphemeral: flag(),
      }),
    result: () =>
      z.object({
        events: z.array(RawEvent()),
        cursor: z.string(),
        hasMore: z.boolean(),
        cursorStatus: z.enum(["ok", "expired"]),
      }),
  }),
  method("session.eventLog.tail", {
    summary: "The cursor of the end.",
    params: justSession,
    result: () => z.object({ cursor: z.string() }),
  }),
  method("session.eventLog.registerInterest", {
    summary: "Asks for events that are sent only on request.",
    params: () => ofSession({ eventType: z.string() }),
    result: () => z.object({ handle: z.string() }),
  }),
  method("session.eventLog.releaseInterest", {
    summary: "Takes that back.",
    params: () => ofSession({ handle: z.string() }),
    result: success,
  }),
);
