/** Which conversation a hook is about: its key, its agent, and its session in the store. */
import type { TranscriptSession } from "../../store/transcript-records.ts";
import type { Continuity } from "../records/continuity.ts";
import { actingAgent, actingProject, assertMayWrite, type Caller, findSession, mayWrite } from "../records/scope.ts";
import { Draft } from "./draft.ts";
import type { HookInput } from "./hook-input.ts";

/** One attempt to handle a hook: who sent it, its input, and what was looked up in the store for it. */
export interface Attempt {
  readonly caller: Caller;
  readonly input: HookInput;
  readonly found: Map<string, TranscriptSession | undefined>;
}

/** Children of Claude Code and Codex have no session of their own: the parent's key and the agent's id together name them. */
export function childKey({ sessionKey, harnessAgentId, parentSessionKey }: HookInput): string {
  const hasOwnKey = parentSessionKey !== undefined && parentSessionKey !== sessionKey;
  return hasOwnKey || harnessAgentId === undefined ? sessionKey : `${sessionKey}:${harnessAgentId}`;
}

export async function conversationKey(continuity: Continuity, attempt: Attempt): Promise<string> {
  const { sessionKey } = attempt.input;
  const key = childKey(attempt.input);
  if (key === sessionKey || (await find(continuity, attempt, { key }))) return key;
  return (await find(continuity, attempt, { key: sessionKey }))?.parentId === undefined ? key : sessionKey;
}

/** The session with this key, when the caller may write to it: also a parent that a child is linked to must be the caller's own. */
export async function find(
  { transcripts }: Continuity,
  { caller, input: { harness, agentId }, found }: Attempt,
  { key }: { key: string },
): Promise<TranscriptSession | undefined> {
  if (found.has(key)) return found.get(key);
  const session = await findSession(transcripts, caller, { key, harness, agentId });
  const own = session && mayWrite(caller, session) ? session : undefined;
  found.set(key, own);
  return own;
}

/**
 * The session with this key, to be written to; made with the first write when it is not there. One that is there stays in its project and
 * with its agent, whatever the hook says; a scoped token that cannot reach it there is refused.
 */
export async function open(continuity: Continuity, attempt: Attempt, { key }: { key: string }): Promise<Draft> {
  const { caller, input } = attempt;
  const project = actingProject(caller, input.project);
  const acting = actingAgent(caller, input.agentId);
  const named = input.agentId ?? caller.agentId;
  const known = named === undefined ? await find(continuity, attempt, { key }) : undefined;
  const agentId = known?.agentId ?? (await inheritedAgent(continuity, attempt)) ?? acting;
  const name = { sessionKey: key, harness: input.harness, agentId };
  const { transcripts, world } = continuity;
  const now = world.now();
  const draft = known ? Draft.of(transcripts, { session: known, now }) : await Draft.open(transcripts, { name, now });
  const { session } = draft;
  if (session) assertMayWrite(caller, session);
  const place = session?.project === undefined ? project : undefined;
  const isNews = !session || place !== undefined || (input.title !== undefined && session.title === undefined);
  if (isNews) draft.add({ type: "opened", project: place, title: input.title });
  return draft;
}

/** A child belongs to its parent's agent, whatever the hook says. */
async function inheritedAgent(continuity: Continuity, attempt: Attempt): Promise<string | undefined> {
  const { parentSessionKey, harnessAgentId, sessionKey } = attempt.input;
  const parentKey = parentSessionKey ?? (harnessAgentId === undefined ? undefined : sessionKey);
  return parentKey === undefined ? undefined : (await find(continuity, attempt, { key: parentKey }))?.agentId;
}
