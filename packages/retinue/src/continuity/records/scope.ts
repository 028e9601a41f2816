/**
 * Who asks, and what they may see. Every operation goes through here, from every surface.
 *
 * The owner of the home has everything. A scoped token is bound to an agent, a project, or both. An agent reads its own sessions; one
 * that is set to `shared` also reads those of agents whose visibility is `global`.
 */
import { AppError } from "@retinue/protocol";
import { DEFAULT_AGENT, type TranscriptSession } from "../../store/transcript-records.ts";
import type { ReadScope, TranscriptStore } from "../../store/transcripts.ts";

export interface Caller {
  /** Bound to this agent. Absent: any. */
  readonly agentId?: string;
  /** Bound to this folder and what is below it. Absent: any. */
  readonly project?: string;
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
  if (caller.project === undefined) return project;
  if (project !== undefined && !isWithin(project, caller.project)) {
    throw new AppError("authentication_failed", "This token may not speak for that project");
  }
  return project ?? caller.project;
}

/** What this agent of this caller may read. */
export function readable(caller: Caller, agentId: string): ReadScope {
  return { agentId, folder: caller.project };
}

export type Sees = (session: TranscriptSession) => boolean;

/** Which of these sessions the caller may see, as the agent that it names or is bound to. */
export async function visibility(
  { agents }: TranscriptStore,
  caller: Caller,
  { sessions, agentId = caller.agentId }: { sessions: readonly TranscriptSession[]; agentId?: string },
): Promise<Sees> {
  const inProject: Sees = ({ project }) =>
    caller.project === undefined || (project !== undefined && isWithin(project, caller.project));
  if (agentId === undefined) return inProject;
  const others = new Set(sessions.map((session) => session.agentId).filter((each) => each !== agentId));
  const isShared = others.size > 0 && (await agents.get(agentId)).reads === "shared";
  const open = new Set([agentId]);
  for (const other of isShared ? others : []) if ((await agents.get(other)).visibility === "global") open.add(other);
  return (session) => open.has(session.agentId) && inProject(session);
}

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

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
