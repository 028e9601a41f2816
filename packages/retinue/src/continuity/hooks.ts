/**
 * What harnesses tell us: sessions that start and end, prompts, answers, sub-agents, calls.
 *
 * Every hook may bring new turns in any of four forms; all are idempotent. A hook that starts a child answers with the
 * inherit block when the parent is certain.
 */
import { AppError } from "@retinue/protocol";
import * as z from "zod";
import type { Database } from "../store/sqlite-door.ts";
import type { World } from "../world.ts";
import { type ContinuityConfig, tailCharsOf } from "./config.ts";
import { closeCall, closeCalls, openCall, spawningSession } from "./calls.ts";
import { inheritBlock, maxCharsFor } from "./inherit.ts";
import { recordInline, recordNew } from "./inline.ts";
import { linkParent, onlyCandidate, type Parentage, recordNoParent } from "./lineage.ts";
import { isNotice } from "./readers/claude-code.ts";
import { readOn, recordTold } from "./reading.ts";
import { actingAgent, actingProject, type Caller, findSession, isOwner, parentOf } from "./scope.ts";
import { inTransaction } from "./transaction.ts";
import { allowedTranscript, type TranscriptRoots } from "./transcript-roots.ts";
import { endSession, openSession, type TranscriptSession } from "./transcripts.ts";
import { indexWhenDue } from "./turn-index.ts";

export interface Continuity {
  readonly db: Database;
  readonly world: World;
  readonly config: ContinuityConfig;
  readonly roots: TranscriptRoots;
}

const word = () => z.string().min(1).max(1_024);
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

export const HookInput = z.object({
  harness: z.string().regex(/^[\w.-]{1,64}$/),
  sessionKey: word(),
  project: optional(word()),
  agentId: optional(word()),
  harnessAgentId: optional(word()),
  parentSessionKey: optional(word()),
  title: optional(z.string()),
  userMessage: optional(z.string()),
  lastAssistantMessage: optional(z.string()),
  transcriptPath: optional(word()),
  /** The whole transcript so far. */
  transcript: optional(z.union([z.string(), z.array(z.unknown())])),
  /** Only what is new; each with an id of its own. */
  turns: optional(z.array(z.unknown())),
  reason: optional(z.string()),
});
export type HookInput = z.output<typeof HookInput>;

export const CallInput = HookInput.extend({ callId: word(), tool: word(), phase: z.enum(["before", "after"]) });

export interface HookAnswer {
  inject?: string;
  sessionKey?: string;
  parentSessionKey?: string;
  /** Why there is no block. */
  reason?: string;
}

export function onSessionStart(continuity: Continuity, caller: Caller, input: HookInput): HookAnswer {
  const { child, session, parentage } = inOneWrite(continuity, () => {
    const isChildOfKnown = input.harnessAgentId !== undefined && find(continuity, caller, input, input.sessionKey) !== undefined;
    const opened = open(continuity, caller, input, isChildOfKnown ? childKey(input) : input.sessionKey);
    const isChild = input.parentSessionKey !== undefined || input.harnessAgentId !== undefined || /:subagent:/.test(input.sessionKey);
    receive(continuity, caller, opened, input);
    return { session: opened, child: isChild, parentage: isChild ? settleParent(continuity, caller, opened, input) : undefined };
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
  if (session) endSession(continuity.db, session.id, { at: continuity.world.now(), reason: input.reason });
  return answer;
}

/** A stop without a start is one of the harness's own helpers: nothing to keep. */
export function onSubagentStop(continuity: Continuity, caller: Caller, input: HookInput): HookAnswer {
  const key = conversationKey(continuity, caller, input);
  const session = find(continuity, caller, input, key);
  if (!session) return { reason: "no sub-agent with this id was started" };
  const parent = input.parentSessionKey === undefined ? undefined : find(continuity, caller, input, input.parentSessionKey);
  if (parent) linkParent(continuity.db, { childId: session.id, parentId: parent.id, how: "named by the harness" });
  return onSessionEnd(continuity, caller, input);
}

/** Calls that start children, and calls of session_search: they tell later who a nameless signal belongs to. */
export function onToolCall(continuity: Continuity, caller: Caller, input: z.output<typeof CallInput>): HookAnswer {
  const session = inOneWrite(continuity, () => {
    const opened = open(continuity, caller, input, conversationKey(continuity, caller, input));
    receive(continuity, caller, opened, input);
    if (input.phase === "before") openCall(continuity.db, { sessionId: opened.id, callId: input.callId, tool: input.tool, at: continuity.world.now() });
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

/** Children of Claude Code and Codex have no session of their own: the parent's key and the agent's id together name them. */
function childKey({ sessionKey, harnessAgentId, parentSessionKey }: HookInput): string {
  const hasOwnKey = parentSessionKey !== undefined && parentSessionKey !== sessionKey;
  return hasOwnKey || harnessAgentId === undefined ? sessionKey : `${sessionKey}:${harnessAgentId}`;
}

function conversationKey(continuity: Continuity, caller: Caller, input: HookInput): string {
  const key = childKey(input);
  if (key === input.sessionKey || find(continuity, caller, input, key)) return key;
  return find(continuity, caller, input, input.sessionKey)?.parentId === undefined ? key : input.sessionKey;
}

function find({ db }: Continuity, caller: Caller, { harness, agentId }: HookInput, key: string): TranscriptSession | undefined {
  return findSession(db, caller, { key, harness, agentId });
}

function open(continuity: Continuity, caller: Caller, input: HookInput, key: string): TranscriptSession {
  const named = input.agentId ?? caller.agentId;
  const known = named === undefined ? find(continuity, caller, input, key) : undefined;
  return openSession(continuity.db, {
    sessionKey: known?.sessionKey ?? key,
    harness: input.harness,
    agentId: known?.agentId ?? inheritedAgent(continuity, caller, input) ?? actingAgent(caller, input.agentId),
    project: actingProject(caller, input.project),
    title: input.title,
    at: continuity.world.now(),
  });
}

/** A child belongs to its parent's agent, whatever the hook says. */
function inheritedAgent(continuity: Continuity, caller: Caller, input: HookInput): string | undefined {
  const parentKey = input.parentSessionKey ?? (input.harnessAgentId === undefined ? undefined : input.sessionKey);
  return parentKey === undefined ? undefined : find(continuity, caller, input, parentKey)?.agentId;
}

function receive(continuity: Continuity, caller: Caller, session: TranscriptSession, input: HookInput): void {
  const { db, world } = continuity;
  const now = world.now();
  const path = input.transcriptPath === undefined ? undefined : checkedPath(continuity, caller, input, input.transcriptPath);
  readOn(db, session, { path, now });
  if (input.transcript !== undefined) recordInline(db, session, { transcript: input.transcript, now });
  if (input.turns !== undefined) recordNew(db, session, { turns: input.turns, now });
  const isAwaited = path !== undefined || input.transcript !== undefined;
  if (input.userMessage?.trim()) {
    const turn = { role: isNotice(input.userMessage) ? ("system" as const) : ("user" as const), text: input.userMessage };
    recordTold(db, session, { turn, now, isAwaited });
  }
  if (input.lastAssistantMessage?.trim()) {
    recordTold(db, session, { turn: { role: "assistant", text: input.lastAssistantMessage }, now, isAwaited });
  }
}

function checkedPath({ roots }: Continuity, caller: Caller, { harness }: HookInput, path: string): string {
  if (!isOwner(caller)) throw new AppError("authentication_failed", "A scoped token may not name files; send the transcript itself");
  return allowedTranscript(roots, harness, path);
}

function settleParent(continuity: Continuity, caller: Caller, child: TranscriptSession, input: HookInput): Parentage {
  const { db } = continuity;
  const parentage = parentOfChild(continuity, caller, child, input);
  if (parentage.parent) linkParent(db, { childId: child.id, parentId: parentage.parent.id, how: parentage.how });
  else recordNoParent(db, child.id, parentage.reason);
  return parentage;
}

function parentOfChild(continuity: Continuity, caller: Caller, child: TranscriptSession, input: HookInput): Parentage {
  const { db, world } = continuity;
  const known = parentOf(db, child);
  if (known) return { parent: known, how: child.lineage ?? "recorded before" };
  if (input.parentSessionKey !== undefined) {
    const parent = find(continuity, caller, input, input.parentSessionKey);
    return parent ? { parent, how: "named by the harness" } : { reason: `the parent session ${input.parentSessionKey} is not known` };
  }
  if (child.sessionKey === input.sessionKey) return onlyCandidate(db, child);
  const root = find(continuity, caller, input, input.sessionKey);
  if (!root) return { reason: `the parent session ${input.sessionKey} is not known` };
  return spawningSession(db, { root, childId: child.id, now: world.now() });
}

function answerChild({ db, config, world }: Continuity, child: TranscriptSession, parentage: Parentage): HookAnswer {
  const { sessionKey } = child;
  if (!parentage.parent) return { sessionKey, reason: parentage.reason };
  const { parent } = parentage;
  const tailChars = tailCharsOf("brief", config);
  if (tailChars === undefined) return { sessionKey, parentSessionKey: parent.sessionKey, reason: "inheritContext is off" };
  // What the parent has said by now, also when no hook told it.
  readOn(db, parent, { now: world.now() });
  const inject = inheritBlock(db, parent, { tailChars, maxChars: maxCharsFor(child.harness) });
  return { sessionKey, parentSessionKey: parent.sessionKey, ...(inject ? { inject } : { reason: "the parent has said nothing yet" }) };
}
