/** Writes typed changes, inside the transaction of whoever calls. */
import {
  keptText,
  type NewCheckpoint,
  type NewTurn,
  type SessionName,
  type TranscriptBatch,
  type TranscriptChange,
} from "../../transcript-records.ts";
import { linkParent, recordNoParent } from "./lineage.ts";
import { Refused, type Row, type Rows, text } from "./rows.ts";
import { findNamed } from "./session-rows.ts";

/** False, and nothing written, when what the writer expects is not so. */
export function recordBatch(rows: Rows, { changes, expects = [] }: TranscriptBatch): boolean {
  try {
    rows.transaction(() => {
      for (const expected of expects) if (!stands(rows, expected)) throw new Refused();
      applyChanges(rows, changes);
    });
    return true;
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
}

function stands(rows: Rows, { session, was }: NonNullable<TranscriptBatch["expects"]>[number]): boolean {
  const { row } = findNamed(rows, session);
  if (!row || !was) return !row && !was;
  return row.id === was.id && Number(row.next_seq) - 1 === was.lastSeq && text(row.reading) === was.reading;
}

export function applyChanges(rows: Rows, changes: readonly TranscriptChange[]): void {
  for (const change of changes) apply(rows, change);
}

function apply(rows: Rows, change: TranscriptChange): void {
  const { at } = change;
  const session = locate(rows, change.session, { at });
  const { id } = session;
  switch (change.type) {
    case "opened": {
      const project =
        change.project ?? (change.projectOf && text(locate(rows, change.projectOf, { at }).project)) ?? null;
      rows.run(
        "UPDATE transcript_sessions SET project = coalesce(?, project), title = coalesce(title, ?) WHERE id = ?",
        project,
        change.title ?? null,
        id,
      );
      return;
    }
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
      linkParent(rows, { childId: id, parentId: locate(rows, change.parent, { at }).id, how: change.how });
      return;
    case "no-parent":
      recordNoParent(rows, { childId: id, reason: change.reason });
      return;
    case "ended":
      rows.run(
        "UPDATE transcript_sessions SET ended_at = ?, end_reason = ? WHERE id = ?",
        change.at,
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

interface Located {
  id: number;
  nextSeq: number;
  project?: unknown;
}

/** One look-up on the way of every event of our own sessions. */
function locate(rows: Rows, wanted: SessionName, { at }: { at: number }): Located {
  const found = find(rows, wanted);
  if (found && found.harness === wanted.harness) return toLocated(found);
  const sessionKey = found ? `${wanted.harness}:${wanted.sessionKey}` : wanted.sessionKey;
  const prefixed = found && find(rows, { ...wanted, sessionKey });
  if (prefixed) return toLocated(prefixed);
  const made = rows.get(
    `INSERT INTO transcript_sessions (agent_id, session_key, harness, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
     RETURNING id, harness, next_seq, project`,
    wanted.agentId,
    sessionKey,
    wanted.harness,
    at,
    at,
  );
  return toLocated(made ?? {});
}

function find(rows: Rows, { agentId, sessionKey }: SessionName): Row | undefined {
  const sql = "SELECT id, harness, next_seq, project FROM transcript_sessions WHERE agent_id = ? AND session_key = ?";
  return rows.get(sql, agentId, sessionKey);
}

const toLocated = ({ id, next_seq, project }: Row): Located => ({
  id: Number(id),
  nextSeq: Number(next_seq),
  project,
});

function appendTurns(
  rows: Rows,
  { id, nextSeq }: Located,
  { turns, reading, at }: { turns: readonly NewTurn[]; reading?: string; at: number },
): void {
  if (turns.length === 0 && reading === undefined) return;
  let seq = nextSeq;
  let bytes = 0;
  for (const turn of turns) {
    const kept = keptText(turn);
    bytes += kept.length;
    rows.run(
      "INSERT INTO transcript_turns (session_id, seq, role, text, tool, call_id, source_id, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      id,
      seq++,
      turn.role,
      kept,
      turn.tool ?? null,
      turn.callId ?? null,
      turn.sourceId ?? null,
      turn.at ?? at,
    );
  }
  // A clock that went back does not make a session older.
  rows.run(
    `UPDATE transcript_sessions SET next_seq = ?, turn_count = turn_count + ?, bytes = bytes + ?, updated_at = max(updated_at, ?),
     reading = coalesce(?, reading), ended_at = CASE WHEN ? THEN NULL ELSE ended_at END WHERE id = ?`,
    seq,
    turns.length,
    bytes,
    at,
    reading ?? null,
    turns.length > 0 ? 1 : 0,
    id,
  );
}

/** Its row. */
export function insertCheckpoint(
  rows: Rows,
  sessionId: number,
  { summary, origin, entities = [], at }: NewCheckpoint & { at: number },
): Row {
  const sql = `INSERT INTO session_checkpoints (session_id, summary, entities, upto_seq, origin, created_at)
    VALUES (?, ?, ?, coalesce((SELECT next_seq - 1 FROM transcript_sessions WHERE id = ?), 0), ?, ?) RETURNING *`;
  return rows.get(sql, sessionId, summary, JSON.stringify(entities), sessionId, origin, at) ?? {};
}
