/** Sessions and turns as rows, and queries for them. */
import { OWN_HARNESS, ROLES, type SessionName, type TranscriptSession, type Turn } from "../../transcript-records.ts";
import type { SessionQuery, TranscriptSessions, TranscriptTurns, TurnQuery } from "../../transcripts.ts";
import { treeOf } from "./lineage.ts";
import { number, type Row, type Rows, text, type Value } from "./rows.ts";
import { readable } from "./scope.ts";

export function sqliteSessions(rows: Rows): TranscriptSessions {
  return {
    async resolve(name) {
      const { name: stored, row } = findNamed(rows, name);
      return { name: stored, session: row && toSession(row) };
    },
    async byId(id) {
      const found = rows.get("SELECT * FROM transcript_sessions WHERE id = ?", id);
      return found && toSession(found);
    },
    async byKey(key, harness) {
      const sql = "SELECT * FROM transcript_sessions WHERE session_key = ?";
      if (harness === undefined) return rows.all(sql, key).map(toSession);
      const prefixed = `${harness}:${key}`;
      const found = rows.all(`${sql} OR session_key = ?`, key, prefixed).map(toSession);
      const own = found.filter(({ sessionKey }) => sessionKey === prefixed);
      return own.length > 0 ? own : found.filter((each) => each.harness === harness);
    },
    async tree(id) {
      return treeOf(rows, id).map(toSession);
    },
    async list(query) {
      return listSessions(rows, query);
    },
    async running({ agentId, harness, project, limit }) {
      const sql =
        "SELECT * FROM transcript_sessions WHERE agent_id = ? AND harness = ? AND project IS ? AND ended_at IS NULL LIMIT ?";
      return rows.all(sql, agentId, harness, project ?? null, limit).map(toSession);
    },
    async followed({ since }) {
      const sql = "SELECT * FROM transcript_sessions WHERE reading IS NOT NULL AND ended_at IS NULL AND updated_at > ?";
      return rows.all(sql, since).map(toSession);
    },
  };
}

/** When another harness of the same agent has taken the key, the harness is put in front. */
function findNamed(rows: Rows, name: SessionName): { name: SessionName; row?: Row } {
  const sql = "SELECT * FROM transcript_sessions WHERE agent_id = ? AND session_key = ?";
  const row = rows.get(sql, name.agentId, name.sessionKey);
  if (!row || row.harness === name.harness) return { name, row };
  const sessionKey = `${name.harness}:${name.sessionKey}`;
  return { name: { ...name, sessionKey }, row: rows.get(sql, name.agentId, sessionKey) };
}

function listSessions(rows: Rows, query: SessionQuery): TranscriptSession[] {
  const { where, values } = readable(rows, query);
  // A deleted session may leave only its reading position.
  const clauses = [where, "NOT (s.turn_count = 0 AND s.next_seq > 1)"];
  const filters: [string, Value | undefined][] = [
    ["s.project = ?", query.project],
    ["s.harness = ?", query.harness],
  ];
  for (const [clause, value] of filters) {
    if (value === undefined) continue;
    clauses.push(clause);
    values.push(value);
  }
  if (query.isRunning) clauses.push("s.ended_at IS NULL");
  const sql = `SELECT * FROM transcript_sessions s WHERE ${clauses.join(" AND ")} ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?`;
  return rows.all(sql, ...values, query.limit, query.offset).map(toSession);
}

/** The rows of one of our own sessions, by its key. */
export function ownSessions(rows: Rows, sessionKey: string): number[] {
  const sql = "SELECT id FROM transcript_sessions WHERE session_key = ? AND harness = ?";
  return rows.all(sql, sessionKey, OWN_HARNESS).map(({ id }) => Number(id));
}

/** Only the columns that `toTurn` reads: converting all of them costs more than finding the row. */
const TURN = "id, seq, role, at, tool, call_id, source_id, text";

export function sqliteTurns(rows: Rows): TranscriptTurns {
  return {
    async read(sessionId, query: TurnQuery = {}) {
      const { after = 0, before = Number.MAX_SAFE_INTEGER, limit = -1, backward = false } = query;
      const sql = `SELECT ${TURN} FROM transcript_turns WHERE session_id = ? AND seq > ? AND seq < ?
        ORDER BY seq ${backward ? "DESC" : "ASC"} LIMIT ?`;
      return rows.all(sql, sessionId, after, before, limit).map(toTurn);
    },
    async sources(sessionId) {
      const sql = "SELECT source_id FROM transcript_turns WHERE session_id = ? AND source_id IS NOT NULL";
      return new Set(rows.all(sql, sessionId).map((row) => String(row.source_id)));
    },
  };
}

export function toSession(row: Row): TranscriptSession {
  return {
    id: Number(row.id),
    agentId: String(row.agent_id),
    sessionKey: String(row.session_key),
    harness: String(row.harness),
    project: text(row.project),
    title: text(row.title),
    parentId: number(row.parent_id),
    lineage: text(row.lineage),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    endedAt: number(row.ended_at),
    endReason: text(row.end_reason),
    turnCount: Number(row.turn_count),
    lastSeq: Number(row.next_seq) - 1,
    reading: text(row.reading),
  };
}

export function toTurn(row: Row): Turn {
  return {
    id: Number(row.id),
    seq: Number(row.seq),
    role: ROLES.find((role) => role === row.role) ?? "system",
    text: String(row.text),
    tool: text(row.tool),
    callId: text(row.call_id),
    sourceId: text(row.source_id),
    at: Number(row.at),
  };
}
