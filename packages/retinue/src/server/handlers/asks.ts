/** Answers to asks: host tools, permissions, questions, forms. False when the ask is unknown or settled. */

import { elicit } from "../../host/asking.ts";
import type { HostAnswer } from "../../loop/host-call.ts";
import type { AskKind } from "../../permissions/asks.ts";
import { type CallScope, type Handlers, hosted } from "../handler.ts";

export const askHandlers: Handlers = {
  "session.tools.handlePendingToolCall": (params, scope) => {
    const answer: HostAnswer = params.error === undefined ? { result: params.result } : { error: params.error };
    return answered(params, answer, "tool", scope);
  },
  "session.permissions.handlePendingPermissionRequest": (params, scope) =>
    answered(params, params.result, "permission", scope),
  "session.ui.handlePendingElicitation": (params, scope) => answered(params, params.result, "elicitation", scope),
  "session.ui.handlePendingUserInput": (params, scope) => answered(params, params.response, "question", scope),
  "session.ui.handlePendingExitPlanMode": (params, scope) => answered(params, params.response, "exit_plan", scope),
  "session.commands.handlePendingCommand": (params, scope) =>
    answered(params, { error: params.error }, "command", scope),

  "session.permissions.pendingRequests": (params, scope) => ({
    items: hosted(params, scope)
      .tree.asks.list("permission")
      .map(({ requestId, payload }) => ({ requestId, request: (payload as { promptRequest: never }).promptRequest })),
  }),

  "session.ui.elicitation": async (params, scope) => {
    const { tree } = hosted(params, scope);
    return await elicit(tree, tree.main, {
      message: params.message,
      requestedSchema: params.requestedSchema,
      signal: scope.signal,
    });
  },
};

function answered(
  params: { sessionId: string; requestId: string },
  answer: unknown,
  kind: AskKind,
  scope: CallScope,
): { success: boolean } {
  const { tree } = hosted(params, scope);
  return { success: tree.asks.answer(params.requestId, answer, kind) };
}
