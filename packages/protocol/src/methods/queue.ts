/** Calls about prompts that wait. */
import * as z from "zod";
import { Attachments } from "../attachments.ts";
import { byName, justSession, method, nothing, ofSession } from "../method.ts";
import { count, lazy, type Of, PromptMode, stringRecord, strings, text } from "../schema.ts";

export const QueueItem = lazy(() =>
  z.object({
    id: z.string(),
    messageId: text(),
    kind: z.enum(["message", "command"]),
    displayText: z.string(),
    agentMode: PromptMode(),
  }),
);
export type QueueItem = Of<typeof QueueItem>;

const byId = lazy(() => ofSession({ id: z.string() }));
const anId = lazy(() => z.object({ id: z.string() }));
const removed = lazy(() => z.object({ removed: z.boolean() }));

export const QUEUE_METHODS = byName(
  method("session.queue.pendingItems", {
    summary: "Prompts that wait, and steering that is on its way.",
    params: justSession,
    result: () =>
      z.object({
        items: z.array(QueueItem()),
        steeringMessages: strings(),
        inFlightSteeringCount: count(),
      }),
  }),
  method("session.queue.removeMostRecent", {
    summary: "Takes back the last prompt.",
    params: justSession,
    result: removed,
  }),
  method("session.queue.clear", {
    summary: "Takes back all prompts.",
    params: justSession,
    result: nothing,
  }),
  method("session.queue.removeAt", {
    summary: "Takes back one prompt.",
    params: byId,
    result: removed,
  }),
  method("session.queue.moveItem", {
    summary: "Moves a prompt to another place.",
    params: () => ofSession({ id: z.string(), toPosition: z.number() }),
    result: () => z.object({ changed: z.boolean() }),
  }),
  method("session.queue.insertAt", {
    summary: "Puts a prompt at a place.",
    params: () =>
      ofSession({
        position: z.number(),
        message: z.object({
          prompt: z.string(),
          displayPrompt: text(),
          attachments: Attachments().optional(),
          agentMode: PromptMode().optional(),
          source: text(),
          requestHeaders: stringRecord().optional(),
        }),
      }),
    result: anId,
  }),
  method("session.queue.duplicateAt", {
    summary: "Puts a copy of a prompt behind it.",
    params: byId,
    result: anId,
  }),
  method("session.queue.updateText", {
    summary: "Changes the text of a prompt.",
    params: () => ofSession({ id: z.string(), prompt: z.string(), displayPrompt: text() }),
    result: () => z.object({ updated: z.boolean() }),
  }),
  method("session.queue.sendNow", {
    summary: "Turns a waiting prompt into steering.",
    params: byId,
    result: () => z.object({ steered: z.boolean() }),
  }),
  method("session.queue.setDrainPaused", {
    summary: "Holds the queue back, or lets it go on.",
    params: () => ofSession({ paused: z.boolean() }),
    result: nothing,
  }),
);
