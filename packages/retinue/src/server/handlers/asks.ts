/** Answers to asks: host tools, permissions, questions, forms, plans, commands. False when the ask is unknown or settled. */
import { setImmediate } from "node:timers/promises";
import type { Answer, AskKind } from "../../asks/kinds.ts";
import { elicit } from "../../tree/asking.ts";
import { samplingByForm } from "../../tree/form-instead.ts";
import { type CallScope, type Handlers, hosted } from "../handler.ts";

export const askHandlers: Handlers = {
  "session.tools.handlePendingToolCall": (params, scope) => {
    const { error, result } = params;
    return answered("tool", { params, answer: error === undefined ? { result } : { error } }, scope);
  },
  "session.permissions.handlePendingPermissionRequest": (params, scope) =>
    answered("permission", { params, answer: params.result }, scope),
  "session.ui.handlePendingElicitation": async (params, scope) => {
    const own = await answered("elicitation", { params, answer: params.result }, scope);
    // The form may stand for a sampling.
    return own.success ? own : await answered("sampling", { params, answer: samplingByForm(params.result) }, scope);
  },
  "session.ui.handlePendingSampling": (params, scope) => {
    const { response } = params;
    return answered("sampling", { params, answer: response ? { response } : { isRefused: true } }, scope);
  },
  "session.ui.handlePendingUserInput": (params, scope) =>
    answered("question", { params, answer: params.response }, scope),
  "session.ui.handlePendingExitPlanMode": (params, scope) =>
    answered("exit_plan", { params, answer: params.response }, scope),
  "session.commands.handlePendingCommand": async (params, scope) => {
    const { error } = params;
    const own = await answered("command", { params, answer: { error } }, scope);
    // A client that answers a queued command as if it were its own has handled it.
    return own.success ? own : await answered("queued_command", { params, answer: { handled: true, error } }, scope);
  },
  "session.commands.respondToQueuedCommand": (params, scope) =>
    answered("queued_command", { params, answer: params.result }, scope),

  "session.permissions.pendingRequests": (params, scope) => ({
    items: hosted(params, scope)
      .tree.asks.list("permission")
      .map(({ requestId, payload }) => ({ requestId, request: payload.promptRequest })),
  }),

  "session.ui.elicitation": async (params, scope) => {
    const { tree, main } = hosted(params, scope);
    return await elicit(tree.participants, main, {
      message: params.message,
      requestedSchema: params.requestedSchema,
      signal: scope.signal,
    });
  },
};

/** What an answer leads to at once is committed with it, and not after it. */
async function answered<K extends AskKind>(
  kind: K,
  { params, answer }: { params: { sessionId: string; requestId: string }; answer: Answer<K> },
  scope: CallScope,
): Promise<{ success: boolean }> {
  const success = hosted(params, scope).tree.asks.answer(kind, params.requestId, answer);
  if (success) await setImmediate();
  return { success };
}
