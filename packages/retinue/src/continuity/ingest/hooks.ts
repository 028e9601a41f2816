/**
 * What harnesses tell us: sessions that start and end, prompts, answers, sub-agents, calls.
 *
 * Every hook may bring new turns; all of it is idempotent, and stored in one write. A hook that starts a child answers with the inherit block.
 */
import type * as z from "zod";
import type { Continuity } from "../records/continuity.ts";
import type { Caller } from "../records/scope.ts";
import { indexAll } from "../records/turn-index.ts";
import { childKey, conversationKey, find, open, type Told } from "./conversation.ts";
import { type Draft, untilSaved } from "./draft.ts";
import type { CallInput, HookAnswer, HookInput } from "./hook-input.ts";
import { answerChild, settleParent } from "./parentage.ts";
import { receive } from "./receive.ts";

export async function onSessionStart(continuity: Continuity, caller: Caller, input: HookInput): Promise<HookAnswer> {
  const isChild =
    input.parentSessionKey !== undefined || input.harnessAgentId !== undefined || /:subagent:/.test(input.sessionKey);
  const { draft, parentage } = await inOneWrite(continuity, { caller, input }, async (told) => {
    const isChildOfKnown =
      input.harnessAgentId !== undefined && (await find(continuity, told, { key: input.sessionKey })) !== undefined;
    const opened = await open(continuity, told, { key: isChildOfKnown ? childKey(input) : input.sessionKey });
    opened.add({ type: "reopened" });
    await receive(continuity, opened, told);
    return { draft: opened, parentage: isChild ? await settleParent(continuity, opened, told) : undefined };
  });
  return parentage ? await answerChild(continuity, draft.name, parentage) : { sessionKey: draft.name.sessionKey };
}

export async function onSubagentStart(continuity: Continuity, caller: Caller, input: HookInput): Promise<HookAnswer> {
  const { draft, parentage } = await inOneWrite(continuity, { caller, input }, async (told) => {
    const opened = await open(continuity, told, { key: childKey(input) });
    await receive(continuity, opened, told);
    return { draft: opened, parentage: await settleParent(continuity, opened, told) };
  });
  return await answerChild(continuity, draft.name, parentage);
}

/** A prompt, the end of a turn, or anything else that brings new turns. */
export async function onTurns(continuity: Continuity, caller: Caller, input: HookInput): Promise<HookAnswer> {
  const { draft } = await inOneWrite(continuity, { caller, input }, async (told) => ({
    draft: await draftTurns(continuity, told),
  }));
  return { sessionKey: draft.name.sessionKey };
}

async function draftTurns(continuity: Continuity, told: Told): Promise<Draft> {
  const draft = await open(continuity, told, { key: await conversationKey(continuity, told) });
  await receive(continuity, draft, told);
  if (told.input.userMessage !== undefined) draft.add({ type: "calls-closed" });
  return draft;
}

export async function onSessionEnd(continuity: Continuity, caller: Caller, input: HookInput): Promise<HookAnswer> {
  const { draft } = await inOneWrite(continuity, { caller, input }, async (told) => {
    const ended = await draftTurns(continuity, told);
    draftEnd(ended, input.reason);
    return { draft: ended };
  });
  return { sessionKey: draft.name.sessionKey };
}

function draftEnd(draft: Draft, reason: string | undefined): void {
  draft.add({ type: "ended", reason });
  // The user began anew under the same key: what was said before is kept, and is nothing that a child should be told.
  if (/^(?:new|reset|clear)$/.test(reason ?? "")) draft.add({ type: "checkpoint", summary: "", origin: "reset" });
}

/** A stop without a start is one of the harness's own helpers: nothing to keep. */
export async function onSubagentStop(continuity: Continuity, caller: Caller, input: HookInput): Promise<HookAnswer> {
  const { draft } = await inOneWrite(continuity, { caller, input }, async (told) => {
    const key = await conversationKey(continuity, told);
    if (!(await find(continuity, told, { key }))) return { draft: undefined };
    const ended = await draftTurns(continuity, told);
    const parentKey = input.parentSessionKey;
    const parent = parentKey === undefined ? undefined : await find(continuity, told, { key: parentKey });
    if (parent) ended.add({ type: "parent", parent, how: "named by the harness" });
    draftEnd(ended, input.reason);
    return { draft: ended };
  });
  return draft ? { sessionKey: draft.name.sessionKey } : { reason: "no sub-agent with this id was started" };
}

/** Calls that start children, and calls of session_search: they tell later who a nameless signal belongs to. */
export async function onToolCall(
  continuity: Continuity,
  caller: Caller,
  input: z.output<typeof CallInput>,
): Promise<HookAnswer> {
  const { draft } = await inOneWrite(continuity, { caller, input }, async (told) => {
    const opened = await open(continuity, told, { key: await conversationKey(continuity, told) });
    await receive(continuity, opened, told);
    if (input.phase === "before") opened.add({ type: "call-opened", callId: input.callId, tool: input.tool });
    else opened.add({ type: "call-closed", callId: input.callId });
    return { draft: opened };
  });
  return { sessionKey: draft.name.sessionKey };
}

/** What the plan drafts is stored at once; when somebody else came between, the plan is made anew. */
async function inOneWrite<T extends { draft: Draft | undefined }>(
  { transcripts }: Continuity,
  { caller, input }: Omit<Told, "found">,
  plan: (told: Told) => Promise<T>,
): Promise<T> {
  const { planned, isIndexDue } = await untilSaved(async () => {
    const made = await plan({ caller, input, found: new Map() });
    return { planned: made, isIndexDue: await made.draft?.save() };
  });
  if (isIndexDue) await indexAll(transcripts);
  return planned;
}
