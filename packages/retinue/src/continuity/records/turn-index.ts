/**
 * Feeds the full-text index with the turns that it does not have yet.
 *
 * One commit per turn into FTS5 writes about forty times the turn; a batch writes five. So turns wait, and whoever searches
 * brings the index up to date first. Secrets are taken out before, so that a search cannot be used to guess one.
 */
import type { Database } from "../../store/sqlite-door.ts";
import { redact } from "./redact.ts";
import { inTransaction, sql } from "./transaction.ts";

const BATCH = 64;
const CHUNK = 2_000;

/** Indexes every waiting turn. */
export function indexAll(db: Database): void {
  let done = CHUNK;
  while (done === CHUNK) {
    done = indexSome(db, CHUNK);
    // Much at once leaves much to join.
    if (done === CHUNK) tidyIndex(db, CHUNK);
  }
}

/** Indexes when a batch is full. For writers, after their commit. */
export function indexWhenDue(db: Database): void {
  if (waiting(db) === BATCH) indexAll(db);
}

/**
 * Joins pieces of the index, so that a search looks into few of them. A bounded step, for moments when nothing else is to do.
 * True while there is more.
 */
export function tidyIndex(db: Database, pages = 200): boolean {
  return inTransaction(db, () => {
    const before = changes(db);
    sql(db, "INSERT INTO transcript_index (transcript_index, rank) VALUES ('merge', ?)").run(pages);
    // As FTS5 documents it: fewer than two changed rows mean that there was nothing to join.
    return changes(db) - before >= 2;
  });
}

const changes = (db: Database) => Number(sql(db, "SELECT total_changes() AS n").get().n);

/** How many turns wait, counted up to a full batch. */
function waiting(db: Database): number {
  const found = sql(
    db,
    `SELECT count(*) AS n FROM (SELECT 1 FROM transcript_turns
     WHERE id > (SELECT value FROM continuity_meta WHERE key = 'indexed_upto') LIMIT ${BATCH})`,
  ).get();
  return Number(found.n);
}

/** Removes a session's turns from the index. Ids of the last turns may be used again, so the mark moves back with them. */
export function dropFromIndex(db: Database, sessionId: number): void {
  sql(db, "DELETE FROM transcript_index WHERE rowid IN (SELECT id FROM transcript_turns WHERE session_id = ?)").run(
    sessionId,
  );
  sql(db, "DELETE FROM transcript_turns WHERE session_id = ?").run(sessionId);
  sql(
    db,
    "UPDATE continuity_meta SET value = min(value, coalesce((SELECT max(id) FROM transcript_turns), 0)) WHERE key = 'indexed_upto'",
  ).run();
}

function indexSome(db: Database, limit: number): number {
  if (waiting(db) === 0) return 0;
  return inTransaction(db, () => {
    const { value: from } = sql(db, "SELECT value FROM continuity_meta WHERE key = 'indexed_upto'").get();
    const turns = sql(
      db,
      "SELECT id, session_id, text, tool FROM transcript_turns WHERE id > ? ORDER BY id LIMIT ?",
    ).all(from, limit);
    const add = sql(db, "INSERT INTO transcript_index (rowid, text, session) VALUES (?, ?, ?)");
    for (const turn of turns)
      add.run(turn.id, redact(turn.tool ? `${turn.tool} ${turn.text}` : turn.text), `s${turn.session_id}`);
    const last = turns.at(-1);
    if (last) sql(db, "UPDATE continuity_meta SET value = ? WHERE key = 'indexed_upto'").run(last.id);
    return turns.length;
  });
}
