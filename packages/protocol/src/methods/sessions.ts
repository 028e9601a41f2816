/** Calls that open, drive and close a session. */
import * as z from "zod";
import { Attachments } from "../attachments.ts";
import { NotificationKind } from "../events/conversation.ts";
import { byName, justSession, method, noParams, nothing, ofSession, successOrReason } from "../method.ts";
import { PromptTerms } from "../prompt-terms.ts";
import { flag, json, lazy, Mode, type Of, PromptMode, stringRecord, text } from "../schema.ts";
import { CreateSession, ResumeSession } from "../session-config.ts";
import { CommandOutcome } from "./commands.ts";
import { EventList, SessionFilter, SessionListing } from "./sessions-catalog.ts";

/** What `session.create` and `session.resume` answer. */
export const OpenedSession = lazy(() =>
  z.object({
    sessionId: z.string(),
    nativeSessionId: text(),
    startTime: text(),
    isRemote: flag(),
    mode: Mode().optional(),
    workspacePath: text(),
    capabilities: z
      .object({
        ui: z.object({ elicitation: flag(), mcpApps: flag(), canvases: flag() }).optional(),
        extensions: flag(),
      })
      .optional(),
    modelState: z.object({ modelId: text() }).optional(),
  }),
);
export type OpenedSession = Of<typeof OpenedSession>;

const ResponseFormat = lazy(() =>
  z.object({
    type: z.literal("json_schema"),
    jsonSchema: z.object({ name: z.string(), schema: json(), description: text(), strict: flag() }),
  }),
);

/** A prompt that is missing or is not a text counts as an empty one; runtimes of this protocol have always accepted that. */
const prompt = () => z.string().catch("");

const sending = () => ({
  mode: z.enum(["enqueue", "immediate"]).optional(),
  agentMode: PromptMode().optional(),
  prepend: flag(),
  requestHeaders: stringRecord().optional(),
  responseFormat: ResponseFormat().optional(),
  traceparent: text(),
  tracestate: text(),
  wait: flag(),
});

const openingMethods = byName(
  method("session.create", {
    summary: "Opens a new session.",
    params: CreateSession,
    result: OpenedSession,
  }),
  method("session.resume", {
    summary: "Opens a stored session, or joins one that is open.",
    params: ResumeSession,
    result: OpenedSession,
  }),
  method("session.detach", {
    summary: "Leaves a session; it closes when the last client leaves.",
    params: justSession,
    result: successOrReason,
  }),
  method("session.destroy", {
    summary: "The old name of `session.detach`.",
    params: justSession,
    result: successOrReason,
  }),
  method("session.delete", {
    summary: "Erases a session with its log and folder.",
    params: justSession,
    result: successOrReason,
  }),
  method("session.shutdown", {
    summary: "Closes a session for everybody.",
    params: () =>
      ofSession({ type: z.enum(["routine", "error"]).optional(), reason: text(), detachSessionEndHooks: flag() }),
    result: nothing,
  }),
  method("session.suspend", {
    summary: "Stops the run so that it can go on after a resume.",
    params: justSession,
    result: nothing,
  }),
);

const runningMethods = byName(
  method("session.send", {
    summary: "Queues a prompt, or steers the running turn.",
    params: () =>
      ofSession({
        prompt: prompt(),
        displayPrompt: text(),
        attachments: Attachments().optional(),
        source: text(),
        requiredTool: text(),
        /** What the prompt demands of its interaction: which tools the main agent has. Ours. */
        terms: PromptTerms().optional(),
        /** A prompt that begins with a slash is a command. Ours. */
        commands: flag(),
        ...sending(),
      }),
    result: () =>
      z.object({
        messageId: z.string(),
        /** What the command did; with `agent-prompt` its prompt is on its way. Ours. */
        command: CommandOutcome().optional(),
      }),
  }),
  method("session.sendMessages", {
    summary: "Queues several prompts at once.",
    params: () =>
      ofSession({
        messages: z.array(
          z.object({
            prompt: prompt(),
            displayPrompt: text(),
            attachments: Attachments().optional(),
            requiredTool: text(),
          }),
        ),
        ...sending(),
      }),
    result: () => z.object({ messageIds: z.array(z.string()) }),
  }),
  method("session.abort", {
    summary: "Stops everything that runs in the session, sub-agents included.",
    params: () => ofSession({ reason: text() }),
    result: successOrReason,
  }),
  method("session.interruptMainTurn", {
    summary: "Stops the main agent's run.",
    params: () => ofSession({ flushQueued: flag() }),
    result: () => z.object({ interrupted: z.boolean() }),
  }),
  method("session.cancelAllBackgroundAgents", {
    summary: "Cancels all background agents; answers how many.",
    params: justSession,
    result: () => z.number(),
  }),
  method("session.sendSystemNotification", {
    summary: "Tells the model something in the name of the runtime, and runs a turn on it.",
    params: () => ofSession({ message: z.string(), kind: NotificationKind().optional().catch(undefined) }),
    result: nothing,
  }),
  method("session.log", {
    summary: "Adds a line to the session's log.",
    params: () =>
      ofSession({
        message: z.string(),
        level: z.enum(["info", "warning", "error"]).optional(),
        type: text(),
        ephemeral: flag(),
        url: text(),
        tip: text(),
      }),
    result: () => z.object({ eventId: z.string() }),
  }),
);

const readingMethods = byName(
  method("session.getMessages", {
    summary: "All stored events of a session.",
    params: justSession,
    result: EventList,
  }),
  method("session.list", {
    summary: "Stored sessions, last used first.",
    params: () => z.object({ filter: SessionFilter().optional() }),
    result: () => z.object({ sessions: z.array(SessionListing()) }),
  }),
  method("session.getMetadata", {
    summary: "The listing of one session, if there is one.",
    params: justSession,
    result: () => z.object({ session: SessionListing().optional() }),
  }),
  method("session.getLastId", {
    summary: "The session that was used last.",
    params: noParams,
    result: () => z.object({ sessionId: text() }),
  }),
  method("session.getForeground", {
    summary: "The session that a terminal shows.",
    params: noParams,
    result: () => z.object({ sessionId: text(), workspacePath: text() }),
  }),
  method("session.setForeground", {
    summary: "Asks the terminal to show a session.",
    params: justSession,
    result: successOrReason,
  }),
);

export const SESSION_METHODS = { ...openingMethods, ...runningMethods, ...readingMethods };
