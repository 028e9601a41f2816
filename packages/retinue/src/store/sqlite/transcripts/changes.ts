/** Writes typed changes, in the caller's transaction. */
import {
  keptText,
  type NewCheckpoint,
  type NewTurn,
  type TranscriptBatch,
  type TranscriptChange,
  type TranscriptSession,
} from "../../transcript-records.ts";
import { INDEX_BATCH, type Recorded } from "../../transcripts.ts";
import { Refused } from "../transaction.ts";
import { linkParent, recordNoParent } from "./lineage.ts";
import { type NamedSession, NamedSessions } from "./named-sessions.ts";
import type { Row, Rows } from "./rows.ts";
import { backlog } from "./turn-index.ts";

/** Writes nothing when a session is not as the writer expects. */
export function recordBatch(rows: Rows, { changes, expects = [] }: TranscriptBatch): Recorded {
  const bringsTurns = changes.some((change) => change.type === "turns" && change.turns.length > 0);
  try {
    return rows.transaction(() => {
      const sessions = new NamedSessions(rows);
      for (const { session, was } of expects) if (!isAs(sessions.find(session), was)) throw new Refused();
      for (const change of changes) apply(sessions, change);
      return { isStored: true, isIndexDue: bringsTurns && backlog(rows, INDEX_BATCH) === INDEX_BATCH };
    });
  } catch (error) {
    if (error instanceof Refused) return { isStored: false, isIndexDue: false };
    throw error;
  }
}

function isAs(found: NamedSession | undefined, was: TranscriptSession | undefined): boolean {
  if (!found || !was) return !found && !was;
  return found.id === was.id && found.nextSeq - 1 === was.lastSeq && found.reading === was.reading;
}

/** For changes without expectations. */
export function applyChanges(rows: Rows, changes: readonly TranscriptChange[]): void {
  const sessions = new NamedSessions(rows);
  for (const change of changes) apply(sessions, change);
}

function apply(sessions: NamedSessions, change: TranscriptChange): void {
  if (change.type === "opened") {
    open(sessions, change);
    return;
  }
  const { rows } = sessions;
  const { at } = change;
  const session = sessions.findOrMake(change.session, { at });
  const { id } = session;
  switch (change.type) {
    case "titled":
      rows.run("UPDATE transcript_sessions SET title = ? WHERE id = ?", change.title, id);
      return;
    case "turns":
      appendTurns(rows, session, change);
      return;
    case "checkpoint":
      insertCheckpoint(rows, id, change);
      return;
    case "parent":
      linkParent(rows, { childId: id, parentId: sessions.findOrMake(change.parent, { at }).id, how: change.how });
      return;
    case "no-parent":
      recordNoParent(rows, { childId: id, reason: change.reason });
      return;
    case "ended":
      rows.run(
        "UPDATE transcript_sessions SET ended_at = ?, end_reason = ? WHERE id = ?",
        at,
        change.reason ?? null,
        id,
      );
      return;
    case "reopened":
      rows.run(
        "UPDATE transcript_sessions SET ended_at = NULL, end_reason = NULL WHERE id = ? AND ended_at IS NOT NULL",
        id,
      );
      return;
    default:
      applyCall(rows, id, change);
  }
}

function open(sessions: NamedSessions, change: Extract<TranscriptChange, { type: "opened" }>): void {
  const { session: name, at, projectOf, title } = change;
  const project = projectOf ? sessions.findOrMake(projectOf, { at }).project : change.project;
  const session = sessions.find(name);
  if (!session) {
    sessions.make(name, { at, project, title });
    return;
  }
  session.project = project ?? session.project;
  const sql = "UPDATE transcript_sessions SET project = coalesce(?, project), title = coalesce(title, ?) WHERE id = ?";
  sessions.rows.run(sql, project ?? null, title ?? null, session.id);
}

type CallChange = Extract<TranscriptChange, { type: `call${string}` }>;

function applyCall(rows: Rows, sessionId: number, change: CallChange): void {
  switch (change.type) {
    case "call-opened":
      rows.run(
        "INSERT OR REPLACE INTO transcript_calls (call_id, session_id, tool, at) VALUES (?, ?, ?, ?)",
        change.callId,
        sessionId,
        change.tool,
        change.at,
      );
      return;
    case "call-closed":
      rows.run("DELETE FROM transcript_calls WHERE call_id = ? AND session_id = ?", change.callId, sessionId);
      return;
    case "calls-closed":
      rows.run("DELETE FROM transcript_calls WHERE session_id = ?", sessionId);
      return;
    case "call-claimed": {
      const sql =
        "UPDATE transcript_calls SET claimed_by = ? WHERE call_id = ? AND session_id = ? AND claimed_by IS NULL";
      const claimed = rows.run(sql, sessionId, change.call.callId, change.call.session.id);
      if (claimed === 0) throw new Refused();
      return;
    }
    default:
      change satisfies never;
  }
}

function appendTurns(
  rows: Rows,
  session: NamedSession,
  { turns, reading, at }: { turns: readonly NewTurn[]; reading?: string; at: number },
): void {
  if (turns.length === 0 && reading === undefined) return;
  let bytes = 0;
  for (const turn of turns) {
    const kept = keptText(turn);
    bytes += kept.length;
    rows.run(
      "INSERT INTO transcript_turns (session_id, seq, role, text, tool, call_id, source_id, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      session.id,
      session.nextSeq++,
      turn.role,
      kept,
      turn.tool ?? null,
      turn.callId ?? null,
      turn.sourceId ?? null,
      turn.at ?? at,
    );
  }
  // The clock may have gone back.
  rows.run(
    `UPDATE transcript_sessions SET next_seq = ?, turn_count = turn_count + ?, bytes = bytes + ?, updated_at = max(updated_at, ?),
     reading = coalesce(?, reading), ended_at = CASE WHEN ? THEN NULL ELSE ended_at END WHERE id = ?`,
    session.nextSeq,
    turns.length,
    bytes,
    at,
    reading ?? null,
    turns.length > 0 ? 1 : 0,
    session.id,
  );
}

/** The row of the session. */
export function insertCheckpoint(
  rows: Rows,
  sessionId: number,
  { summary, origin, entities = [], at }: NewCheckpoint & { at: number },
): Row {
  const sql = `INSERT INTO session_checkpoints (session_id, summary, entities, upto_seq, origin, created_at)
    VALUES (?, ?, ?, coalesce((SELECT next_seq - 1 FROM transcript_sessions WHERE id = ?), 0), ?, ?) RETURNING *`;
  return rows.get(sql, sessionId, summary, JSON.stringify(entities), sessionId, origin, at) ?? {};
}
