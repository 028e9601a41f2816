/**
 * Sessions and their turns as they are kept: append-only, verbatim within bounds, in the order in which they came.
 *
 * Owns the rows. Where turns come from is in transcript-fold.ts (ours) and ingest.ts (other harnesses); finding them again is in search.ts.
 */
import type { Database } from "../../store/sqlite-door.ts";
import { inTransaction, sql } from "./transaction.ts";

export const ROLES = ["user", "assistant", "tool", "system"] as const;
export type Role = (typeof ROLES)[number];

export interface NewTurn {
  role: Role;
  text: string;
  /** Set on a call (role assistant) and, where it is known, on its result (role tool). */
  tool?: string;
  callId?: string;
  /** The id of the line, message or part that it was read from. */
  sourceId?: string;
  at?: number;
}

export interface Turn extends NewTurn {
  id: number;
  seq: number;
  at: number;
}

export interface TranscriptSession {
  id: number;
  agentId: string;
  sessionKey: string;
  harness: string;
  project?: string;
  title?: string;
  parentId?: number;
  /** How the parent is known, or why it is not. */
  lineage?: string;
  createdAt: number;
  updatedAt: number;
  endedAt?: number;
  endReason?: string;
  turnCount: number;
  /** Where the reader of a foreign transcript stands; see reading.ts. */
  reading?: string;
}

export const DEFAULT_AGENT = "default";
export const MAX_TEXT = 1_000_000;
export const MAX_TOOL_TEXT = 16_000;

export interface SessionFacts {
  sessionKey: string;
  harness: string;
  agentId: string;
  at: number;
  project?: string;
  title?: string;
}

/** The session with this key; made when it is not there. Facts that were unknown are filled in. */
export function openSession(db: Database, facts: SessionFacts): TranscriptSession {
  const key = keyWithin(db, facts);
  const found = sql(
    db,
    `INSERT INTO transcript_sessions (agent_id, session_key, harness, project, title, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET project = coalesce(excluded.project, project), title = coalesce(title, excluded.title)
     RETURNING *`,
  ).get(facts.agentId, key, facts.harness, facts.project ?? null, facts.title ?? null, facts.at, facts.at);
  return toSession(found);
}

/** A key that another harness has taken for the same agent gets the harness in front. */
function keyWithin(db: Database, { agentId, sessionKey, harness }: SessionFacts): string {
  const other = sql(db, "SELECT harness FROM transcript_sessions WHERE agent_id = ? AND session_key = ?").get(
    agentId,
    sessionKey,
  );
  return other && other.harness !== harness ? `${harness}:${sessionKey}` : sessionKey;
}

export function sessionById(db: Database, id: number): TranscriptSession | undefined {
  const found = sql(db, "SELECT * FROM transcript_sessions WHERE id = ?").get(id);
  return found ? toSession(found) : undefined;
}

/** Every session with this key; more than one only when several agents use it. */
export function sessionsByKey(db: Database, key: string, harness?: string): TranscriptSession[] {
  const find = (each: string) =>
    sql(db, "SELECT * FROM transcript_sessions WHERE session_key = ?").all(each).map(toSession);
  const prefixed = harness === undefined ? [] : find(`${harness}:${key}`);
  return prefixed.length > 0 ? prefixed : find(key).filter((each) => harness === undefined || each.harness === harness);
}

export function childrenOf(db: Database, id: number): TranscriptSession[] {
  return sql(db, "SELECT * FROM transcript_sessions WHERE parent_id = ? ORDER BY id").all(id).map(toSession);
}

export interface AppendOptions {
  /** The new state of the reader, in the same write. */
  reading?: string;
  /** The time of turns that bring none. */
  now: number;
}

/** Stores turns at the end of a session; returns how many. */
export function appendTurns(
  db: Database,
  session: Pick<TranscriptSession, "id">,
  turns: readonly NewTurn[],
  { reading, now }: AppendOptions,
): number {
  if (turns.length === 0 && reading === undefined) return 0;
  return inTransaction(db, () => {
    let { next_seq: seq } = sql(db, "SELECT next_seq FROM transcript_sessions WHERE id = ?").get(session.id);
    let bytes = 0;
    for (const turn of turns) {
      const text = bounded(turn);
      bytes += text.length;
      sql(
        db,
        "INSERT INTO transcript_turns (session_id, seq, role, text, tool, call_id, source_id, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      ).run(
        session.id,
        seq++,
        turn.role,
        text,
        turn.tool ?? null,
        turn.callId ?? null,
        turn.sourceId ?? null,
        turn.at ?? now,
      );
    }
    // A clock that went back does not make a session older.
    sql(
      db,
      `UPDATE transcript_sessions SET next_seq = ?, turn_count = turn_count + ?, bytes = bytes + ?, updated_at = max(updated_at, ?),
       reading = coalesce(?, reading), ended_at = CASE WHEN ? THEN NULL ELSE ended_at END WHERE id = ?`,
    ).run(seq, turns.length, bytes, now, reading ?? null, turns.length > 0 ? 1 : 0, session.id);
    return turns.length;
  });
}

export interface TurnQuery {
  after?: number;
  limit?: number;
  /** Newest first. */
  backward?: boolean;
}

export function readTurns(
  db: Database,
  sessionId: number,
  { after = 0, limit = -1, backward = false }: TurnQuery = {},
): Turn[] {
  return sql(
    db,
    `SELECT * FROM transcript_turns WHERE session_id = ? AND seq > ? ORDER BY seq ${backward ? "DESC" : "ASC"} LIMIT ?`,
  )
    .all(sessionId, after, limit)
    .map(toTurn);
}

export function lastSeq(db: Database, sessionId: number): number {
  return Number(sql(db, "SELECT next_seq - 1 AS seq FROM transcript_sessions WHERE id = ?").get(sessionId)?.seq ?? 0);
}

export function endSession(db: Database, sessionId: number, { at, reason }: { at: number; reason?: string }): void {
  sql(db, "UPDATE transcript_sessions SET ended_at = ?, end_reason = ? WHERE id = ?").run(
    at,
    reason ?? null,
    sessionId,
  );
}

/** A session that had ended goes on. */
export function reopenSession(db: Database, sessionId: number): void {
  sql(
    db,
    "UPDATE transcript_sessions SET ended_at = NULL, end_reason = NULL WHERE id = ? AND ended_at IS NOT NULL",
  ).run(sessionId);
}

/** One line of a transcript: who, then what. The view `session_transcripts` writes the same. */
export function speaker({ role, tool }: Pick<Turn, "role" | "tool">): string {
  if (role === "assistant" && tool) return `Call ${tool}`;
  return role === "tool" ? "Result" : `${role.charAt(0).toUpperCase()}${role.slice(1)}`;
}

function bounded({ role, text, tool }: NewTurn): string {
  const max = role === "tool" || tool ? MAX_TOOL_TEXT : MAX_TEXT;
  const clean = text.includes("\0") ? text.replaceAll("\0", "\u2400") : text;
  if (clean.length <= max) return clean;
  const half = Math.floor(max / 2);
  return `${clean.slice(0, half)}\n[${clean.length - 2 * half} characters left out]\n${clean.slice(-half)}`;
}

type Row = Readonly<Record<string, unknown>>;
const text = (value: unknown) => (typeof value === "string" ? value : undefined);
const number = (value: unknown) => (typeof value === "number" ? value : undefined);

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
