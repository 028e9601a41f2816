/** Which conversation a hook is about: its key, its agent, and its session in the store. */
import type { TranscriptSession } from "../../store/transcript-records.ts";
import type { Continuity } from "../records/continuity.ts";
import { actingAgent, actingProject, type Caller, findSession } from "../records/scope.ts";
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

export async function find(
  { transcripts }: Continuity,
  { caller, input: { harness, agentId }, found }: Attempt,
  { key }: { key: string },
): Promise<TranscriptSession | undefined> {
  if (!found.has(key)) found.set(key, await findSession(transcripts, caller, { key, harness, agentId }));
  return found.get(key);
}

/** The session with this key, to be written to; made with the first write when it is not there. */
export async function open(continuity: Continuity, attempt: Attempt, { key }: { key: string }): Promise<Draft> {
  const { caller, input } = attempt;
  const named = input.agentId ?? caller.agentId;
  const known = named === undefined ? await find(continuity, attempt, { key }) : undefined;
  const agentId = known?.agentId ?? (await inheritedAgent(continuity, attempt)) ?? actingAgent(caller, input.agentId);
  const name = { sessionKey: key, harness: input.harness, agentId };
  const project = actingProject(caller, input.project);
  const { transcripts, world } = continuity;
  const now = world.now();
  const draft = known ? Draft.of(transcripts, { session: known, now }) : await Draft.open(transcripts, { name, now });
  const { session } = draft;
  const isNews =
    !session ||
    (project !== undefined && project !== session.project) ||
    (input.title !== undefined && session.title === undefined);
  if (isNews) draft.add({ type: "opened", project, title: input.title });
  return draft;
}

/** A child belongs to its parent's agent, whatever the hook says. */
async function inheritedAgent(continuity: Continuity, attempt: Attempt): Promise<string | undefined> {
  const { parentSessionKey, harnessAgentId, sessionKey } = attempt.input;
  const parentKey = parentSessionKey ?? (harnessAgentId === undefined ? undefined : sessionKey);
  return parentKey === undefined ? undefined : (await find(continuity, attempt, { key: parentKey }))?.agentId;
}
