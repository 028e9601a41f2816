/**
 * Questions and forms for people, from any agent of a tree.
 *
 * Owns `user_input.*` and `elicitation.*`. They reach the clients of the root session and are answered there, once.
 */
import type { ElicitationResult, UserInputAnswer } from "@retinue/protocol";
import type { Agent } from "../loop/agent.ts";
import type { Tree } from "./tree.ts";

interface Asking {
  callId?: string;
  signal: AbortSignal;
}

const NOBODY: UserInputAnswer = {
  answer: "The user is not available to answer. Decide yourself, and say which way you went.",
  wasFreeform: true,
};

export async function askUser(
  tree: Tree,
  agent: Agent,
  { question, choices, callId, signal }: Asking & { question: string; choices?: string[] },
): Promise<UserInputAnswer> {
  const { session } = agent;
  const requestId = session.world.newId();
  const about = { question, ...(choices ? { choices } : {}), allowFreeform: true };
  session.appendAsk("user_input.requested", {
    requestId,
    ...about,
    ...(callId ? { toolCallId: callId } : {}),
    ...pathOf(agent),
  });
  await session.log.committed();
  const ask = { requestId, kind: "question" as const, sessionId: session.id, callId, payload: about };
  const answer = (await agent.slot.waiting(() => tree.asks.open(ask, { signal }), signal)) as
    | UserInputAnswer
    | undefined;
  session.appendAsk("user_input.completed", { requestId, ...(answer ?? {}) });
  return answer ?? NOBODY;
}

export async function elicit(
  tree: Tree,
  agent: Agent,
  {
    message,
    requestedSchema,
    callId,
    source,
    signal,
  }: Asking & { message: string; requestedSchema: Record<string, unknown>; source?: string },
): Promise<{ action: "accept" | "decline" | "cancel"; content?: Record<string, unknown> }> {
  const { session } = agent;
  if (!tree.participants.can("requestElicitation")) return { action: "cancel" };
  const requestId = session.world.newId();
  const about = { message, requestedSchema, ...(source ? { elicitationSource: source } : {}) };
  session.appendAsk("elicitation.requested", {
    requestId,
    ...about,
    ...(callId ? { toolCallId: callId } : {}),
    ...pathOf(agent),
  });
  await session.log.committed();
  const ask = { requestId, kind: "elicitation" as const, sessionId: session.id, callId, payload: about };
  const answer = (await agent.slot.waiting(() => tree.asks.open(ask, { signal }), signal)) as ElicitationResult;
  const content = answer.content ?? undefined;
  session.appendAsk("elicitation.completed", { requestId, action: answer.action, ...(content ? { content } : {}) });
  return { action: answer.action, ...(content ? { content } : {}) };
}

function pathOf({ session, path }: Agent): { agentId?: string; agentPath?: string[] } {
  return session.parent ? { agentId: session.id, agentPath: [...path] } : {};
}
