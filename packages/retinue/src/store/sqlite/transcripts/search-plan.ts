/**
 * The scope of a search in its cheapest form: everything, a few sessions whose ids are words of the index, or a condition that each match
 * is checked against.
 */
import type { SearchWithin } from "../../transcripts.ts";
import { BELOW, rootOf } from "./lineage.ts";
import type { Rows, Value } from "./rows.ts";
import { OWN_ONLY, readable } from "./scope.ts";

/** Up to this many sessions are looked up in the index; beyond that each match is checked. */
const NAMED_SESSIONS = 200;

export type Scope =
  | "everything"
  | { sessions: readonly number[]; times?: Times }
  | { where: string; values: readonly Value[] };

interface Times {
  since?: number;
  until?: number;
}

export function resolveScope(rows: Rows, within: SearchWithin): Scope | "nothing" {
  const { since, until } = within;
  const times = since === undefined && until === undefined ? undefined : { since, until };
  const { where, values } = conditions(rows, within);
  if (!times && where === OWN_ONLY && isOnlyAgent(rows, within.agentId)) return "everything";
  const few = rows.all(`SELECT id FROM transcript_sessions s WHERE ${where} LIMIT ${NAMED_SESSIONS + 1}`, ...values);
  if (few.length === 0) return "nothing";
  if (few.length <= NAMED_SESSIONS) return { sessions: few.map(({ id }) => Number(id)), times };
  const { clause, values: timeValues } = timeClause(times);
  return { where: `${where}${clause}`, values: [...values, ...timeValues] };
}

function conditions(rows: Rows, within: SearchWithin): { where: string; values: Value[] } {
  const { where, values } = readable(rows, within);
  const clauses = [where];
  const add = (clause: string, value: Value | undefined) => {
    if (value === undefined) return;
    clauses.push(clause);
    values.push(value);
  };
  add("s.id = ?", within.sessionId);
  add("s.project = ?", within.project);
  add("s.harness = ?", within.harness);
  add(`s.id IN (${BELOW})`, within.treeOf === undefined ? undefined : rootOf(rows, within.treeOf));
  return { where: clauses.join(" AND "), values };
}

function isOnlyAgent(rows: Rows, agentId: string): boolean {
  // Two queries, each answered from one end of the index; a single one would read all of it.
  const ends =
    "SELECT (SELECT min(agent_id) FROM transcript_sessions) AS first, (SELECT max(agent_id) FROM transcript_sessions) AS last";
  const found = rows.get(ends);
  return found?.first === agentId && found.last === agentId;
}

const JOIN = "JOIN transcript_turns t ON t.id = f.rowid JOIN transcript_sessions s ON s.id = t.session_id";

/** The FTS5 query for a match in a scope. */
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
