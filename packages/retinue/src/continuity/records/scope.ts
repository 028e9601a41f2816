/**
 * Who asks, and what they may see. Every operation goes through here, from every surface.
 *
 * The owner of the home has everything. A scoped token is bound to an agent, a project, or both; whatever a request names is ANDed with
 * that. An agent reads its own sessions; one that is set to `shared` also reads those of agents whose visibility is `global`. Reading is
 * not writing: a token changes, ends, links and deletes only sessions of its own agent and project.
 */
import { AppError } from "@retinue/protocol";
import { DEFAULT_AGENT, type TranscriptSession } from "../../store/transcript-records.ts";
import type { ReadScope, TranscriptStore } from "../../store/transcripts.ts";
import { isReallyWithin, isWithin, tidyPath } from "./paths.ts";

export interface Caller {
  /** Bound to this agent. Absent: any. */
  readonly agentId?: string;
  /** Bound to this folder and what is below it. Absent: any. */
  readonly project?: string;
  /** Only that folder itself, not what is below it. */
  readonly isExact?: boolean;
}

export const OWNER: Caller = {};

export const isOwner = ({ agentId, project }: Caller) => agentId === undefined && project === undefined;

/** The agent that the caller acts as. */
export function actingAgent(caller: Caller, agentId: string | undefined): string {
  if (caller.agentId !== undefined && agentId !== undefined && agentId !== caller.agentId) {
    throw new AppError("authentication_failed", `This token may not act as the agent ${agentId}`);
  }
  return agentId ?? caller.agentId ?? DEFAULT_AGENT;
}

/** The project that the caller acts for. */
export function actingProject(caller: Caller, project: string | undefined): string | undefined {
  const tidy = project === undefined ? undefined : tidyPath(project);
  if (caller.project === undefined) return tidy;
  if (tidy !== undefined && !isReallyWithin(tidy, caller.project)) {
    throw new AppError("authentication_failed", "This token may not speak for that project");
  }
  return tidy ?? caller.project;
}

/** What this agent of this caller may read. */
export function readable(caller: Caller, agentId: string): ReadScope {
  return { agentId, folder: caller.project, isExact: caller.isExact };
}

export type Sees = (session: TranscriptSession) => boolean;

/** Which of these sessions the caller may see, as the agent that it names or is bound to. */
export async function visibility(
  { agents }: TranscriptStore,
  caller: Caller,
  { sessions, agentId: given }: { sessions: readonly TranscriptSession[]; agentId?: string },
): Promise<Sees> {
  const inProject: Sees = (session) => isInProject(caller, session);
  const agentId = given === undefined ? caller.agentId : actingAgent(caller, given);
  if (agentId === undefined) return inProject;
  const others = new Set(sessions.map((session) => session.agentId).filter((each) => each !== agentId));
  const isShared = others.size > 0 && (await agents.get(agentId)).reads === "shared";
  const open = new Set([agentId]);
  for (const other of isShared ? others : []) if ((await agents.get(other)).visibility === "global") open.add(other);
  return (session) => open.has(session.agentId) && inProject(session);
}

function isInProject(caller: Caller, { project }: TranscriptSession): boolean {
  if (caller.project === undefined) return true;
  return project !== undefined && (caller.isExact ? project === caller.project : isWithin(project, caller.project));
}

/** Whether the caller may change this session, which it may be able to read only. */
export function mayWrite(caller: Caller, session: TranscriptSession): boolean {
  const isOwnAgent = caller.agentId === undefined || session.agentId === caller.agentId;
  return isOwnAgent && isInProject(caller, session);
}

export function assertMayWrite(caller: Caller, session: TranscriptSession): void {
  if (!mayWrite(caller, session))
    throw new AppError(
      "authentication_failed",
      `The session ${session.sessionKey} is outside of what this token may change`,
    );
}

/** Entities belong to an agent, in all its projects; so a caller that is bound to a project has none. */
export const hasEntities = ({ project }: Caller) => project === undefined;

export interface Named {
  key: string;
  harness?: string;
  agentId?: string;
}

/** The session with this key that the caller may see. A key that two agents use needs the agent's name. */
export async function findSession(
  transcripts: TranscriptStore,
  caller: Caller,
  { key, harness, agentId }: Named,
): Promise<TranscriptSession | undefined> {
  const sessions = await transcripts.sessions.byKey(key, harness);
  const sees = await visibility(transcripts, caller, { sessions, agentId });
  const seen = sessions.filter(sees);
  const own = seen.find((session) => session.agentId === (agentId ?? caller.agentId ?? DEFAULT_AGENT));
  return own ?? (seen.length === 1 ? seen[0] : undefined);
}

export async function requireSession(
  transcripts: TranscriptStore,
  caller: Caller,
  named: Named,
): Promise<TranscriptSession> {
  const session = await findSession(transcripts, caller, named);
  if (!session) throw new AppError("session_not_found", `unknown session ${named.key}`);
  return session;
}

export async function parentOf(
  { sessions }: TranscriptStore,
  { parentId }: TranscriptSession,
): Promise<TranscriptSession | undefined> {
  return parentId === undefined ? undefined : await sessions.byId(parentId);
}
