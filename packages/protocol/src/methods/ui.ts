/** Calls by which clients answer questions, forms and plans, or ask them. */
import * as z from "zod";
import { PlanAction } from "../events/asks.ts";
import { byName, method, ofSession, success } from "../method.ts";
import { flag, jsonObject, lazy, type Of, open, text } from "../schema.ts";

/** What became of a form. */
export const ElicitationResult = lazy(() =>
  z.object({ action: z.enum(["accept", "decline", "cancel"]), content: jsonObject().nullish() }),
);
export type ElicitationResult = Of<typeof ElicitationResult>;

export const UserInputAnswer = lazy(() => z.object({ answer: z.string(), wasFreeform: z.boolean().default(true) }));
export type UserInputAnswer = Of<typeof UserInputAnswer>;

export const PlanDecision = lazy(() =>
  z.object({
    approved: z.boolean(),
    selectedAction: PlanAction().optional(),
    autoApproveEdits: flag(),
    feedback: text(),
    deferImplementation: flag(),
  }),
);
export type PlanDecision = Of<typeof PlanDecision>;

/** What a model said, as MCP writes it (`CreateMessageResult`). */
export const SamplingResult = lazy(() => {
  const block = open({ type: z.string() });
  return open({
    role: z.enum(["user", "assistant"]),
    model: z.string(),
    content: z.union([block, z.array(block)]),
    stopReason: text(),
  });
});
export type SamplingResult = Of<typeof SamplingResult>;

export const UI_METHODS = byName(
  method("session.ui.elicitation", {
    summary: "Shows a form through whichever client can.",
    params: () => ofSession({ message: z.string(), requestedSchema: jsonObject(), mode: text() }),
    result: ElicitationResult,
  }),
  method("session.ui.handlePendingElicitation", {
    summary: "Answers `elicitation.requested`.",
    params: () => ofSession({ requestId: z.string(), result: ElicitationResult() }),
    result: success,
  }),
  method("session.ui.handlePendingSampling", {
    summary: "Answers `sampling.requested` with what a model said; without `response` it is refused.",
    params: () => ofSession({ requestId: z.string(), response: SamplingResult().nullish() }),
    result: success,
  }),
  method("session.ui.handlePendingUserInput", {
    summary: "Answers `user_input.requested`.",
    params: () => ofSession({ requestId: z.string(), response: UserInputAnswer() }),
    result: success,
  }),
  method("session.ui.handlePendingExitPlanMode", {
    summary: "Answers `exit_plan_mode.requested`.",
    params: () => ofSession({ requestId: z.string(), response: PlanDecision() }),
    result: success,
  }),
  method("session.ui.ephemeralQuery", {
    summary: "Asks the model something beside the conversation.",
    params: () => ofSession({ question: z.string() }),
    result: () => z.object({ answer: z.string() }),
  }),
);
