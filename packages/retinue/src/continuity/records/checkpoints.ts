/** Checkpoints: a summary of a session up to a turn, with the entities that the work is about. */
import type { Database } from "../../store/sqlite-door.ts";
import { sql } from "./transaction.ts";
import { lastSeq } from "./transcripts.ts";

export interface Checkpoint {
  id: number;
  summary: string;
  entities: readonly string[];
  /** The last turn that the summary covers. */
  uptoSeq: number;
  origin: string;
  at: number;
}

export interface NewCheckpoint {
  sessionId: number;
  summary: string;
  uptoSeq: number;
  /** compaction, or who asked for it: cli, api, mcp. */
  origin: string;
  at: number;
  entities?: readonly string[];
}

export function addCheckpoint(
  db: Database,
  { sessionId, summary, uptoSeq, origin, at, entities = [] }: NewCheckpoint,
): Checkpoint {
  const added = sql(
    db,
    "INSERT INTO session_checkpoints (session_id, summary, entities, upto_seq, origin, created_at) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
  ).get(sessionId, summary, JSON.stringify(entities), uptoSeq, origin, at);
  return { id: Number(added.id), summary, entities, uptoSeq, origin, at };
}

/** The user began anew under the same key: what was said before is kept, and is nothing that a child should be told. */
export function markReset(db: Database, sessionId: number, at: number): void {
  addCheckpoint(db, { sessionId, summary: "", uptoSeq: lastSeq(db, sessionId), origin: "reset", at });
}

export function latestCheckpoint(db: Database, sessionId: number): Checkpoint | undefined {
  return listCheckpoints(db, sessionId, 1)[0];
}

/** Newest first. */
export function listCheckpoints(db: Database, sessionId: number, limit = 100): Checkpoint[] {
  const found = sql(db, "SELECT * FROM session_checkpoints WHERE session_id = ? ORDER BY id DESC LIMIT ?").all(
    sessionId,
    limit,
  );
  return found.map((row) => ({
    id: Number(row.id),
    summary: String(row.summary),
    entities: JSON.parse(row.entities),
    uptoSeq: Number(row.upto_seq),
    origin: String(row.origin),
    at: Number(row.created_at),
  }));
}
