/**
 * The kinds of asks: what each one shows, what answers it, and its events.
 *
 * One row per kind, and the types come from the rows. The steps of an ask are in ask.ts; who can be asked, and how, is in tree/.
 */
import {
  ElicitationResult,
  EVENTS,
  isPersisted,
  PermissionDecision,
  PlanDecision,
  SamplingResult,
  ToolResult,
  UserInputAnswer,
} from "@retinue/protocol";
import * as z from "zod";
import { modeNow } from "../session/mode-now.ts";
import { type AskedBy, type Kind, kind } from "./kind.ts";
import { permissionResult } from "./permission-result.ts";

const TABLE = {
  permission: kind({
    payload: () =>
      EVENTS["permission.requested"]
        .data()
        .pick({ permissionRequest: true, promptRequest: true })
        .required({ promptRequest: true })
        .strip(),
    answer: () => z.union([PermissionDecision(), z.object({ kind: z.literal("unknown"), given: z.unknown() })]),
    requested: "permission.requested",
    completed: "permission.completed",
    request: ({ requestId, payload, session, from }) => ({
      requestId,
      ...payload,
      agentMode: modeNow(session),
      ...from,
    }),
    completion: ({ requestId, callId }, answer) => ({
      requestId,
      toolCallId: callId,
      result: permissionResult(answer),
    }),
    // A suspended session withdraws its permissions; one that shuts down leaves them open for the next process.
    stopped: ({ requestId, callId }, { type, reason }) =>
      type === "shutdown"
        ? undefined
        : {
            data: {
              requestId,
              toolCallId: callId,
              result: { kind: "cancelled", reason: type === "suspend" ? "Session suspended" : reason },
            },
          },
    callOf: ({ permissionRequest }) => permissionRequest.toolCallId,
  }),
  tool: kind({
    payload: () =>
      EVENTS["external_tool.requested"].data().pick({ toolCallId: true, toolName: true, arguments: true }).strip(),
    answer: () =>
      z.union([
        /** No client answered: one of them may have run it, or nobody had the tool. */
        z.object({ unanswered: z.enum(["unknown", "not_run"]) }),
        z.object({ error: z.string() }),
        z.object({ result: ToolResult().optional() }),
      ]),
    requested: "external_tool.requested",
    completed: "external_tool.completed",
    request: ({ requestId, payload, session, from }) => ({
      requestId,
      sessionId: session.root.id,
      ...payload,
      workingDirectory: session.place.workingDirectory,
      ...(from.agentId === undefined ? {} : { providerId: null, ownerNativeSessionId: from.agentId }),
      ...from,
    }),
    completion: ({ requestId }) => ({ requestId }),
    // Parked for a resume: the request stays open in the log, and the end is only sent to clients.
    stopped: ({ requestId }, { isParked }) => ({ data: { requestId }, ephemeral: isParked }),
    callOf: ({ toolCallId }) => toolCallId,
    endsWithCall: true,
  }),
  question: kind({
    payload: () =>
      EVENTS["user_input.requested"].data().pick({ question: true, choices: true, allowFreeform: true }).strip(),
    /** Undefined when every client that was asked has failed to answer. */
    answer: () => UserInputAnswer().optional(),
    requested: "user_input.requested",
    completed: "user_input.completed",
    request: ({ requestId, payload, callId, from }) => ({ requestId, ...payload, toolCallId: callId, ...from }),
    completion: ({ requestId }, answer) => ({ requestId, ...answer }),
  }),
  elicitation: kind({
    payload: () =>
      EVENTS["elicitation.requested"]
        .data()
        .pick({ message: true, requestedSchema: true, mode: true, url: true, elicitationSource: true })
        .strip(),
    answer: ElicitationResult,
    requested: "elicitation.requested",
    completed: "elicitation.completed",
    request: ({ requestId, payload, callId, from }) => ({ requestId, ...payload, toolCallId: callId, ...from }),
    completion: ({ requestId }, { action, content }) => ({ requestId, action, content: content ?? undefined }),
  }),
  sampling: kind({
    payload: () =>
      EVENTS["sampling.requested"]
        .data()
        .pick({ serverName: true, mcpRequestId: true, request: true, message: true })
        .strip(),
    /** An answer of its own, or whether the session's model may be asked. */
    answer: () =>
      z.union([
        z.object({ response: SamplingResult() }),
        z.object({ allow: z.enum(["once", "session"]) }),
        z.object({ isRefused: z.literal(true) }),
      ]),
    requested: "sampling.requested",
    completed: "sampling.completed",
    request: ({ requestId, payload, callId, from }) => ({ requestId, ...payload, toolCallId: callId, ...from }),
    completion: ({ requestId }) => ({ requestId }),
    stopped: ({ requestId }) => ({ data: { requestId } }),
  }),
  exit_plan: kind({
    payload: () =>
      EVENTS["exit_plan_mode.requested"]
        .data()
        .pick({ summary: true, planContent: true, actions: true, recommendedAction: true })
        .strip(),
    answer: PlanDecision,
    requested: "exit_plan_mode.requested",
    completed: "exit_plan_mode.completed",
    request: ({ requestId, payload, callId }) => ({ requestId, ...payload, toolCallId: callId }),
    completion: ({ requestId }, { approved, selectedAction, feedback }) => ({
      requestId,
      approved,
      selectedAction,
      feedback: feedback || undefined,
    }),
  }),
  command: kind({
    payload: () => EVENTS["command.execute"].data().pick({ command: true, commandName: true, args: true }).strip(),
    answer: () => z.object({ error: z.string().optional() }),
    requested: "command.execute",
    completed: "command.completed",
    request: ({ requestId, payload }) => ({ requestId, ...payload }),
    completion: ({ requestId }) => ({ requestId }),
    stopped: ({ requestId }) => ({ data: { requestId } }),
  }),
  queued_command: kind({
    payload: () => EVENTS["command.queued"].data().pick({ command: true }).strip(),
    answer: () =>
      z.object({
        handled: z.boolean(),
        stopProcessingQueue: z.boolean().optional(),
        /** The error of the client that handled it. */
        error: z.string().optional(),
      }),
    requested: "command.queued",
    completed: "command.completed",
    request: ({ requestId, payload }) => ({ requestId, ...payload }),
    completion: ({ requestId }) => ({ requestId }),
  }),
};

export type AskKind = keyof typeof TABLE;
export type Payload<K extends AskKind> = z.output<ReturnType<(typeof TABLE)[K]["payload"]>>;
export type Answer<K extends AskKind> = z.output<ReturnType<(typeof TABLE)[K]["answer"]>>;

export const KINDS: { readonly [K in AskKind]: Kind<Payload<K>, Answer<K>> } = TABLE;

export const ASK_KINDS: readonly AskKind[] = Object.keys(TABLE).filter(isAskKind);

function isAskKind(name: string): name is AskKind {
  return Object.hasOwn(TABLE, name);
}

export interface Ask<K extends AskKind = AskKind> {
  requestId: string;
  kind: K;
  /** The session that asks. */
  sessionId: string;
  callId?: string;
  payload: Payload<K>;
  /** Who asks; absent until its agent has opened it. */
  from?: AskedBy;
  /** An earlier process has offered it. */
  isRepeat?: boolean;
  /** Its call runs again after a restart and asks the same, so it is stored until that call has its result. */
  comesAgain?: boolean;
  /** The data of its request event, for a client that did not get that. */
  shown?(): object;
}

/** Whether the log keeps asks of this kind, so that they can come again after a restart. */
export function isKept(kind: AskKind): boolean {
  return isPersisted(KINDS[kind].requested);
}
