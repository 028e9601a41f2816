/** Requests and notifications that a runtime sends to its clients. */
import * as z from "zod";
import { PlanAction } from "../events/asks.ts";
import { byName, justSession, method, nothing, ofSession } from "../method.ts";
import { PermissionAnswerV2, PermissionRequest } from "../permission.ts";
import { asker, flag, json, lazy, strings, text } from "../schema.ts";
import { ToolResult } from "../tool-result.ts";
import { RawEvent } from "./sessions-catalog.ts";
import { PlanDecision, UserInputAnswer } from "./ui.ts";

/** An ask that was offered before says so, and names its id. Ours. */
const offered = () => ({ ...asker(), requestId: text() });

const Sections = lazy(() => z.record(z.string(), z.object({ content: z.string() })));

export const CLIENT_CALLS = byName(
  method("userInput.request", {
    summary: "A question for a person.",
    params: () =>
      ofSession({ question: z.string(), choices: strings().optional(), allowFreeform: flag(), ...offered() }),
    result: UserInputAnswer,
  }),
  method("exitPlanMode.request", {
    summary: "A plan that waits for approval.",
    params: () =>
      ofSession({
        summary: z.string(),
        planContent: text(),
        actions: z.array(PlanAction()),
        recommendedAction: PlanAction(),
        ...offered(),
      }),
    result: PlanDecision,
  }),
  method("hooks.invoke", {
    summary: "Asks a hook of the host.",
    params: () => ofSession({ hookType: z.string(), input: json() }),
    result: () => z.object({ output: json().optional() }),
  }),
  method("systemMessage.transform", {
    summary: "Lets the host rewrite sections of the system message.",
    params: () => ofSession({ sections: Sections() }),
    result: () => z.object({ sections: Sections() }),
  }),
  method("tasks.cancel", {
    summary: "Asks the client to stop work that it reported as a task.",
    params: () =>
      ofSession({
        id: z.string(),
        clientTaskId: z.string(),
        cancellationId: z.string(),
        reason: z.enum(["cancel_requested", "session_shutdown"]),
      }),
    result: () => z.object({ cancelled: z.boolean() }),
  }),
  method("providerToken.getToken", {
    summary: "Asks the host for a bearer token of a model provider.",
    params: () => ofSession({ providerName: z.string() }),
    result: () => z.object({ token: z.string() }),
  }),
  method("tool.call", {
    summary: "Runs a host tool; only clients of protocol 2.",
    params: () =>
      ofSession({ toolCallId: z.string(), toolName: z.string(), arguments: json().optional(), ...offered() }),
    result: () => z.object({ result: ToolResult() }),
  }),
  method("permission.request", {
    summary: "Asks for permission; only clients of protocol 2.",
    params: () => ofSession({ permissionRequest: PermissionRequest(), ...offered() }),
    result: PermissionAnswerV2,
  }),
);

export const NOTIFICATIONS = byName(
  method("session.event", {
    summary: "An event of a session, to every attached client.",
    params: () => ofSession({ event: RawEvent() }),
    result: nothing,
  }),
  method("session.lifecycle", {
    summary: "A session was created, changed or deleted.",
    params: () =>
      justSession().extend({
        type: z.enum([
          "session.created",
          "session.updated",
          "session.deleted",
          "session.foreground",
          "session.background",
        ]),
        metadata: z.object({ startTime: z.string(), modifiedTime: z.string(), summary: text() }).optional(),
      }),
    result: nothing,
  }),
);
