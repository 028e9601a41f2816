/** Events of asks: permission, questions, forms, plan approval, host commands, and the hooks around them. */
import * as z from "zod";
import { byName } from "../method.ts";
import { PermissionRequest, PermissionResult, PromptRequest } from "../permission.ts";
import { asker, flag, json, jsonObject, lazy, Mode, type Of, open, strings, text } from "../schema.ts";
import { event } from "./event.ts";

/** What may follow a plan. */
export const PlanAction = lazy(() => z.enum(["exit_only", "interactive", "autopilot", "autopilot_fleet"]));
export type PlanAction = Of<typeof PlanAction>;

const permissionEvents = byName(
  event("permission.requested", {
    persisted: true,
    summary: "A call needs a decision.",
    data: () =>
      open({
        requestId: z.string(),
        permissionRequest: PermissionRequest(),
        promptRequest: PromptRequest().optional(),
        agentMode: Mode().optional(),
        /** True: a hook decides, so clients need not ask anybody. */
        resolvedByHook: flag(),
        ...asker(),
      }),
  }),
  event("permission.completed", {
    persisted: true,
    summary: "The decision on a call.",
    data: () =>
      open({
        requestId: z.string(),
        toolCallId: text(),
        result: PermissionResult(),
        decisionSource: z
          .enum([
            "assisted_approval",
            "human_response",
            "host_policy",
            "unattended_fallback",
            "authorization_carry_forward",
          ])
          .optional(),
      }),
  }),
);

/** Of a hook that a file names; a callback of a client has none. */
const HookSource = lazy(() => open({ file: z.string(), command: z.string(), plugin: text() }));

const hookEvents = byName(
  event("hook.start", {
    persisted: true,
    summary: "A hook is asked.",
    data: () =>
      open({
        hookInvocationId: z.string(),
        hookType: z.string(),
        input: json().optional(),
        parentToolCallId: text(),
        source: HookSource().optional(),
      }),
  }),
  event("hook.end", {
    persisted: true,
    summary: "A hook answered, failed or ran out of time.",
    data: () =>
      open({
        hookInvocationId: z.string(),
        hookType: z.string(),
        success: z.boolean(),
        output: json().optional(),
        error: open({ message: z.string(), source: text(), stack: text() }).optional(),
        parentToolCallId: text(),
        source: HookSource().optional(),
      }),
  }),
);

const questionEvents = byName(
  event("user_input.requested", {
    persisted: false,
    summary: "The model has a question for a person.",
    data: () =>
      open({
        requestId: z.string(),
        question: z.string(),
        choices: strings().nullish(),
        allowFreeform: flag(),
        toolCallId: text(),
        ...asker(),
      }),
  }),
  event("user_input.completed", {
    persisted: false,
    summary: "The question was answered.",
    data: () => open({ requestId: z.string(), answer: text(), wasFreeform: flag() }),
  }),
  event("elicitation.requested", {
    persisted: false,
    summary: "A form must be filled in.",
    data: () =>
      open({
        requestId: z.string(),
        message: z.string(),
        requestedSchema: jsonObject().optional(),
        elicitationSource: text(),
        mode: z.enum(["form", "url"]).optional(),
        url: text(),
        toolCallId: text(),
        ...asker(),
      }),
  }),
  event("elicitation.completed", {
    persisted: false,
    summary: "What became of the form.",
    data: () =>
      open({
        requestId: z.string(),
        action: z.enum(["accept", "decline", "cancel"]).optional(),
        content: jsonObject().nullish(),
      }),
  }),
  event("sampling.requested", {
    persisted: false,
    summary: "An MCP server wants an answer of a model.",
    data: () =>
      open({
        requestId: z.string(),
        serverName: z.string(),
        /** The id of the server's own request. */
        mcpRequestId: json(),
        /** The parameters of `sampling/createMessage`. */
        request: jsonObject().optional(),
        /** The same in words for a person. */
        message: text(),
        toolCallId: text(),
        ...asker(),
      }),
  }),
  event("sampling.completed", {
    persisted: false,
    summary: "The server's request needs no answer any more.",
    data: () => open({ requestId: z.string() }),
  }),
  event("exit_plan_mode.requested", {
    persisted: false,
    summary: "A plan waits for approval.",
    data: () =>
      open({
        requestId: z.string(),
        summary: z.string(),
        planContent: z.string(),
        actions: z.array(PlanAction()),
        recommendedAction: PlanAction(),
        model: text(),
        toolCallId: text(),
        isRepeat: flag(),
      }),
  }),
  event("exit_plan_mode.completed", {
    persisted: false,
    summary: "The decision on the plan.",
    data: () =>
      open({
        requestId: z.string(),
        approved: flag(),
        selectedAction: PlanAction().optional(),
        feedback: text(),
        autoApproveEdits: flag(),
      }),
  }),
);

const commandEvents = byName(
  event("command.execute", {
    persisted: false,
    summary: "A slash command of a client must run.",
    data: () => open({ requestId: z.string(), command: z.string(), commandName: z.string(), args: z.string() }),
  }),
  event("command.queued", {
    persisted: false,
    summary: "A queued slash command must be handled.",
    data: () => open({ requestId: z.string(), command: z.string() }),
  }),
  event("command.completed", {
    persisted: false,
    summary: "A slash command was handled.",
    data: () => open({ requestId: z.string() }),
  }),
  event("commands.changed", {
    persisted: false,
    summary: "The slash commands of clients changed.",
    data: () => open({ commands: z.array(open({ name: z.string(), description: text() })) }),
  }),
  event("capabilities.changed", {
    persisted: false,
    summary: "What the attached clients can show changed.",
    data: () => open({ ui: open({ elicitation: flag(), mcpApps: flag(), canvases: flag() }).optional() }),
  }),
);

export const ASK_EVENTS = { ...permissionEvents, ...hookEvents, ...questionEvents, ...commandEvents };
