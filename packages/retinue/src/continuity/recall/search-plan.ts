/**
 * Where a search looks, in the cheapest form that says it: everywhere, in sessions that are words of the index themselves, or by
 * a condition that each match is checked against.
 */
import type { Database } from "../../store/sqlite-door.ts";
import { rootOf, subtree } from "../records/lineage.ts";
import { type Caller, readable } from "../records/scope.ts";
import { sql } from "../records/transaction.ts";
import type { TranscriptSession } from "../records/transcripts.ts";

export interface SearchFilters {
  caller: Caller;
  agentId: string;
  /** Only this session. */
  session?: TranscriptSession;
  /** Only the tree that this session belongs to. */
  lineageOf?: TranscriptSession;
  project?: string;
  harness?: string;
  since?: number;
  until?: number;
}

/** As many sessions as are looked up by name in the index; beyond that each match is checked. */
const NAMED_SESSIONS = 200;

export type Scope =
  | "everything"
  | { sessions: readonly number[]; times?: Times }
  | { where: string; values: readonly (string | number)[] };
interface Times {
  since?: number;
  until?: number;
}

/** The sessions to look in, in the cheapest form that says it. */
export function resolveScope(db: Database, request: SearchFilters): Scope | "nothing" {
  const times =
    request.since === undefined && request.until === undefined
      ? undefined
      : { since: request.since, until: request.until };
  const { where, values } = conditions(db, request);
  if (!times && where === "s.agent_id = ?" && isOnlyAgent(db, request.agentId)) return "everything";
  const few = db
    .prepare(`SELECT id FROM transcript_sessions s WHERE ${where} LIMIT ${NAMED_SESSIONS + 1}`)
    .all(...values);
  if (few.length === 0) return "nothing";
  if (few.length <= NAMED_SESSIONS) return { sessions: few.map(({ id }) => Number(id)), times };
  const { clause, values: timeValues } = timeClause(times);
  return { where: `${where}${clause}`, values: [...values, ...timeValues] };
}

function conditions(db: Database, request: SearchFilters): { where: string; values: (string | number)[] } {
  const { where, values } = readable(db, request.caller, request.agentId);
  const clauses = [where];
  const add = (clause: string, value: string | number | undefined) => {
    if (value === undefined) return;
    clauses.push(clause);
    values.push(value);
  };
  add("s.id = ?", request.session?.id);
  add("s.project = ?", request.project);
  add("s.harness = ?", request.harness);
  if (request.lineageOf) clauses.push(`s.id IN (${subtree(db, rootOf(db, request.lineageOf).id).join(",")})`);
  return { where: clauses.join(" AND "), values };
}

function isOnlyAgent(db: Database, agentId: string): boolean {
  // Two questions, each answered by one end of the index; asked together they would read all of it.
  const ends =
    "SELECT (SELECT min(agent_id) FROM transcript_sessions) AS first, (SELECT max(agent_id) FROM transcript_sessions) AS last";
  const { first, last } = sql(db, ends).get();
  return first === agentId && last === agentId;
}

const JOIN = "JOIN transcript_turns t ON t.id = f.rowid JOIN transcript_sessions s ON s.id = t.session_id";

/** The index's own words for a match in a scope. */
export function matchPlan(match: string, within: Scope) {
  const text = `text : (${match})`;
  if (within === "everything") return { match: text, join: "", where: "", values: [] };
  if ("where" in within) return { match: text, join: JOIN, where: ` AND ${within.where}`, values: within.values };
  const { clause, values } = timeClause(within.times);
  const sessions = within.sessions.map((id) => `"s${id}"`).join(" OR ");
  return { match: `session : (${sessions}) AND ${text}`, join: clause === "" ? "" : JOIN, where: clause, values };
}

function timeClause(times: Times | undefined): { clause: string; values: number[] } {
  const clause = `${times?.since === undefined ? "" : " AND t.at >= ?"}${times?.until === undefined ? "" : " AND t.at <= ?"}`;
  return { clause, values: [times?.since, times?.until].filter((value) => value !== undefined) };
}
