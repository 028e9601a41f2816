/** Which conversation a hook speaks of: its key, its agent, and its row in the store. */
import type { Continuity } from "../records/continuity.ts";
import { actingAgent, actingProject, type Caller, findSession } from "../records/scope.ts";
import { openSession, type TranscriptSession } from "../records/transcripts.ts";
import type { HookInput } from "./hook-input.ts";

/** Children of Claude Code and Codex have no session of their own: the parent's key and the agent's id together name them. */
export function childKey({ sessionKey, harnessAgentId, parentSessionKey }: HookInput): string {
  const hasOwnKey = parentSessionKey !== undefined && parentSessionKey !== sessionKey;
  return hasOwnKey || harnessAgentId === undefined ? sessionKey : `${sessionKey}:${harnessAgentId}`;
}

export function conversationKey(continuity: Continuity, caller: Caller, input: HookInput): string {
  const key = childKey(input);
  if (key === input.sessionKey || find(continuity, caller, input, key)) return key;
  return find(continuity, caller, input, input.sessionKey)?.parentId === undefined ? key : input.sessionKey;
}

export function find(
  { db }: Continuity,
  caller: Caller,
  { harness, agentId }: HookInput,
  key: string,
): TranscriptSession | undefined {
  return findSession(db, caller, { key, harness, agentId });
}

export function open(continuity: Continuity, caller: Caller, input: HookInput, key: string): TranscriptSession {
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
