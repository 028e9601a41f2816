/**
 * Who asks, and what they may see. Every operation goes through here, whichever surface it came in by.
 *
 * The owner of the home has everything. A scoped token is bound to an agent, a project, or both. An agent reads its own sessions; one
 * that is set to `shared` also reads those of agents whose visibility is `global`.
 */
import { AppError } from "@retinue/protocol";
import type { Database } from "../../store/sqlite-door.ts";
import { sql } from "./transaction.ts";
import { DEFAULT_AGENT, sessionById, sessionsByKey, type TranscriptSession } from "./transcripts.ts";

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

/** The project that the caller speaks for. */
export function actingProject(caller: Caller, project: string | undefined): string | undefined {
  if (caller.project === undefined) return project;
  if (project !== undefined && !isWithin(project, caller.project)) {
    throw new AppError("authentication_failed", "This token may not speak for that project");
  }
  return project ?? caller.project;
}

/** A condition over `transcript_sessions s`: what this agent of this caller may read. */
export function readable(
  db: Database,
  caller: Caller,
  agentId: string,
): { where: string; values: (string | number)[] } {
  const clauses: string[] = [];
  const values: (string | number)[] = [];
  if (isShared(db, agentId))
    clauses.push(
      "(s.agent_id = ? OR s.agent_id IN (SELECT agent_id FROM continuity_agents WHERE visibility = 'global'))",
    );
  else clauses.push("s.agent_id = ?");
  values.push(agentId);
  if (caller.project !== undefined) {
    clauses.push("(s.project = ? OR substr(s.project, 1, ?) = ?)");
    values.push(caller.project, caller.project.length + 1, `${caller.project}/`);
  }
  return { where: clauses.join(" AND "), values };
}

export function maySee(db: Database, caller: Caller, session: TranscriptSession, agentId?: string): boolean {
  if (caller.project !== undefined && !(session.project !== undefined && isWithin(session.project, caller.project)))
    return false;
  const agent = agentId ?? caller.agentId;
  if (agent === undefined || agent === session.agentId) return true;
  return isShared(db, agent) && visibilityOf(db, session.agentId) === "global";
}

export interface Named {
  key: string;
  harness?: string;
  agentId?: string;
}

/** The session with this key that the caller may see. A key that two agents use needs the agent's name. */
export function findSession(
  db: Database,
  caller: Caller,
  { key, harness, agentId }: Named,
): TranscriptSession | undefined {
  const seen = sessionsByKey(db, key, harness).filter((session) => maySee(db, caller, session, agentId));
  const own = seen.find((session) => session.agentId === (agentId ?? caller.agentId ?? DEFAULT_AGENT));
  return own ?? (seen.length === 1 ? seen[0] : undefined);
}

export function requireSession(db: Database, caller: Caller, named: Named): TranscriptSession {
  const session = findSession(db, caller, named);
  if (!session) throw new AppError("session_not_found", `unknown session ${named.key}`);
  return session;
}

export function parentOf(db: Database, session: TranscriptSession): TranscriptSession | undefined {
  return session.parentId === undefined ? undefined : sessionById(db, session.parentId);
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

const isShared = (db: Database, agentId: string) =>
  sql(db, "SELECT reads FROM continuity_agents WHERE agent_id = ?").get(agentId)?.reads === "shared";

const visibilityOf = (db: Database, agentId: string) =>
  sql(db, "SELECT visibility FROM continuity_agents WHERE agent_id = ?").get(agentId)?.visibility;
