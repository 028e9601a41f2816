/**
 * Hooks of other harnesses: sessions that start and end, prompts, answers, sub-agents, calls.
 *
 * Every hook may bring new turns. All of it is idempotent, and stored in one write. A hook that starts a child is answered with the inherit block.
 */
import type * as z from "zod";
import type { Continuity } from "../records/continuity.ts";
import type { Caller } from "../records/scope.ts";
import { indexAll } from "../records/turn-index.ts";
import { type Attempt, childKey, conversationKey, find, open } from "./conversation.ts";
import { type Draft, untilSaved } from "./draft.ts";
import type { CallInput, HookAnswer, HookInput } from "./hook-input.ts";
import { answerChild, settleParent } from "./parentage.ts";
import { receive } from "./receive.ts";

export async function onSessionStart(continuity: Continuity, caller: Caller, input: HookInput): Promise<HookAnswer> {
  const isChild =
    input.parentSessionKey !== undefined || input.harnessAgentId !== undefined || /:subagent:/.test(input.sessionKey);
  const { draft, parentage } = await inOneWrite(continuity, { caller, input }, async (attempt) => {
    const isChildOfKnown =
      input.harnessAgentId !== undefined && (await find(continuity, attempt, { key: input.sessionKey })) !== undefined;
    const opened = await open(continuity, attempt, { key: isChildOfKnown ? childKey(input) : input.sessionKey });
    opened.add({ type: "reopened" });
    await receive(continuity, opened, attempt);
    return { draft: opened, parentage: isChild ? await settleParent(continuity, opened, attempt) : undefined };
  });
  return parentage
    ? await answerChild(continuity, draft.name, { parentage, caller })
    : { sessionKey: draft.name.sessionKey };
}

export async function onSubagentStart(continuity: Continuity, caller: Caller, input: HookInput): Promise<HookAnswer> {
  const { draft, parentage } = await inOneWrite(continuity, { caller, input }, async (attempt) => {
    const opened = await open(continuity, attempt, { key: childKey(input) });
    await receive(continuity, opened, attempt);
    return { draft: opened, parentage: await settleParent(continuity, opened, attempt) };
  });
  return await answerChild(continuity, draft.name, { parentage, caller });
}

/** A prompt, the end of a turn, or anything else that brings new turns. */
export async function onTurns(continuity: Continuity, caller: Caller, input: HookInput): Promise<HookAnswer> {
  const { draft } = await inOneWrite(continuity, { caller, input }, async (attempt) => ({
    draft: await draftTurns(continuity, attempt),
  }));
  return { sessionKey: draft.name.sessionKey };
}

async function draftTurns(continuity: Continuity, attempt: Attempt): Promise<Draft> {
  const draft = await open(continuity, attempt, { key: await conversationKey(continuity, attempt) });
  await receive(continuity, draft, attempt);
  if (attempt.input.userMessage !== undefined) draft.add({ type: "calls-closed" });
  return draft;
}

export async function onSessionEnd(continuity: Continuity, caller: Caller, input: HookInput): Promise<HookAnswer> {
  const { draft } = await inOneWrite(continuity, { caller, input }, async (attempt) => {
    const ended = await draftTurns(continuity, attempt);
    draftEnd(ended, input.reason);
    return { draft: ended };
  });
  return { sessionKey: draft.name.sessionKey };
}

function draftEnd(draft: Draft, reason: string | undefined): void {
  draft.add({ type: "ended", reason });
  // The user started over under the same key: what was said before is kept, but children do not inherit it.
  if (/^(?:new|reset|clear)$/.test(reason ?? "")) draft.add({ type: "checkpoint", summary: "", origin: "reset" });
}

/** A stop without a start comes from one of the harness's own helpers, and is not kept. */
export async function onSubagentStop(continuity: Continuity, caller: Caller, input: HookInput): Promise<HookAnswer> {
  const { draft } = await inOneWrite(continuity, { caller, input }, async (attempt) => {
    const key = await conversationKey(continuity, attempt);
    if (!(await find(continuity, attempt, { key }))) return { draft: undefined };
    const ended = await draftTurns(continuity, attempt);
    const parentKey = input.parentSessionKey;
    const parent = parentKey === undefined ? undefined : await find(continuity, attempt, { key: parentKey });
    if (parent && ended.session?.parentId === undefined)
      ended.add({ type: "parent", parent, how: "named by the harness" });
    draftEnd(ended, input.reason);
    return { draft: ended };
  });
  return draft ? { sessionKey: draft.name.sessionKey } : { reason: "no sub-agent with this id was started" };
}

/** Calls that start children, and calls of session_search: by them a later signal without a name finds its session. */
export async function onToolCall(
  continuity: Continuity,
  caller: Caller,
  input: z.output<typeof CallInput>,
): Promise<HookAnswer> {
  const { draft } = await inOneWrite(continuity, { caller, input }, async (attempt) => {
    const opened = await open(continuity, attempt, { key: await conversationKey(continuity, attempt) });
    await receive(continuity, opened, attempt);
    if (input.phase === "before") opened.add({ type: "call-opened", callId: input.callId, tool: input.tool });
    else opened.add({ type: "call-closed", callId: input.callId });
    return { draft: opened };
  });
  return { sessionKey: draft.name.sessionKey };
}

/** Stores in one write what the plan has drafted. When somebody else wrote in between, the plan runs again. */
async function inOneWrite<T extends { draft: Draft | undefined }>(
  { transcripts }: Continuity,
  { caller, input }: Omit<Attempt, "found">,
  plan: (attempt: Attempt) => Promise<T>,
): Promise<T> {
  const { planned, isIndexDue } = await untilSaved(async () => {
    const made = await plan({ caller, input, found: new Map() });
    return { planned: made, isIndexDue: await made.draft?.save() };
  });
  if (isIndexDue) await indexAll(transcripts);
  return planned;
}
