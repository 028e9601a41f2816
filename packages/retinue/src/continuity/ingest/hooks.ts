/**
 * What harnesses tell us: sessions that start and end, prompts, answers, sub-agents, calls.
 *
 * Every hook may bring new turns; all of it is idempotent. A hook that starts a child answers with the inherit block.
 */
import type * as z from "zod";
import { closeCall, closeCalls, openCall } from "../records/calls.ts";
import { markReset } from "../records/checkpoints.ts";
import type { Continuity } from "../records/continuity.ts";
import { linkParent } from "../records/lineage.ts";
import type { Caller } from "../records/scope.ts";
import { inTransaction } from "../records/transaction.ts";
import { endSession, reopenSession } from "../records/transcripts.ts";
import { indexWhenDue } from "../records/turn-index.ts";
import { childKey, conversationKey, find, open } from "./conversation.ts";
import type { CallInput, HookAnswer, HookInput } from "./hook-input.ts";
import { answerChild, settleParent } from "./parentage.ts";
import { receive } from "./receive.ts";

export function onSessionStart(continuity: Continuity, caller: Caller, input: HookInput): HookAnswer {
  const { child, session, parentage } = inOneWrite(continuity, () => {
    const isChildOfKnown =
      input.harnessAgentId !== undefined && find(continuity, caller, input, input.sessionKey) !== undefined;
    const opened = open(continuity, caller, input, isChildOfKnown ? childKey(input) : input.sessionKey);
    const isChild =
      input.parentSessionKey !== undefined || input.harnessAgentId !== undefined || /:subagent:/.test(input.sessionKey);
    reopenSession(continuity.db, opened.id);
    receive(continuity, caller, opened, input);
    return {
      session: opened,
      child: isChild,
      parentage: isChild ? settleParent(continuity, caller, opened, input) : undefined,
    };
  });
  return child && parentage ? answerChild(continuity, session, parentage) : { sessionKey: session.sessionKey };
}

export function onSubagentStart(continuity: Continuity, caller: Caller, input: HookInput): HookAnswer {
  const { session, parentage } = inOneWrite(continuity, () => {
    const opened = open(continuity, caller, input, childKey(input));
    receive(continuity, caller, opened, input);
    return { session: opened, parentage: settleParent(continuity, caller, opened, input) };
  });
  return answerChild(continuity, session, parentage);
}

/** A prompt, the end of a turn, or anything else that brings new turns. */
export function onTurns(continuity: Continuity, caller: Caller, input: HookInput): HookAnswer {
  const session = inOneWrite(continuity, () => {
    const opened = open(continuity, caller, input, conversationKey(continuity, caller, input));
    receive(continuity, caller, opened, input);
    if (input.userMessage !== undefined) closeCalls(continuity.db, opened.id);
    return opened;
  });
  return { sessionKey: session.sessionKey };
}

export function onSessionEnd(continuity: Continuity, caller: Caller, input: HookInput): HookAnswer {
  const answer = onTurns(continuity, caller, input);
  const session = find(continuity, caller, input, answer.sessionKey ?? input.sessionKey);
  if (!session) return answer;
  const at = continuity.world.now();
  endSession(continuity.db, session.id, { at, reason: input.reason });
  if (/^(?:new|reset|clear)$/.test(input.reason ?? "")) markReset(continuity.db, session.id, at);
  return answer;
}

/** A stop without a start is one of the harness's own helpers: nothing to keep. */
export function onSubagentStop(continuity: Continuity, caller: Caller, input: HookInput): HookAnswer {
  const key = conversationKey(continuity, caller, input);
  const session = find(continuity, caller, input, key);
  if (!session) return { reason: "no sub-agent with this id was started" };
  const parent =
    input.parentSessionKey === undefined ? undefined : find(continuity, caller, input, input.parentSessionKey);
  if (parent) linkParent(continuity.db, { childId: session.id, parentId: parent.id, how: "named by the harness" });
  return onSessionEnd(continuity, caller, input);
}

/** Calls that start children, and calls of session_search: they tell later who a nameless signal belongs to. */
export function onToolCall(continuity: Continuity, caller: Caller, input: z.output<typeof CallInput>): HookAnswer {
  const session = inOneWrite(continuity, () => {
    const opened = open(continuity, caller, input, conversationKey(continuity, caller, input));
    receive(continuity, caller, opened, input);
    if (input.phase === "before")
      openCall(continuity.db, {
        sessionId: opened.id,
        callId: input.callId,
        tool: input.tool,
        at: continuity.world.now(),
      });
    else closeCall(continuity.db, opened.id, input.callId);
    return opened;
  });
  return { sessionKey: session.sessionKey };
}

function inOneWrite<T>({ db }: Continuity, work: () => T): T {
  const result = inTransaction(db, work);
  indexWhenDue(db);
  return result;
}
