/** Deletion, which happens only when somebody asks for it: one session with its children, or by age and size. */
import type { Database } from "../../store/sqlite-door.ts";
import { subtree } from "./lineage.ts";
import { inTransaction, sql } from "./transaction.ts";
import { dropFromIndex } from "./turn-index.ts";

const DAY = 24 * 3_600_000;

/** Returns how many sessions went. A session that is still read from a file keeps its place, so that what was deleted does not come back. */
export function deleteTranscript(db: Database, sessionId: number): number {
  return inTransaction(db, () => {
    const sessions = subtree(db, sessionId);
    for (const id of sessions.reverse()) {
      dropFromIndex(db, id);
      sql(db, "DELETE FROM session_checkpoints WHERE session_id = ?").run(id);
      sql(db, "DELETE FROM transcript_calls WHERE session_id = ?").run(id);
      sql(db, "DELETE FROM transcript_sessions WHERE id = ? AND reading IS NULL").run(id);
      sql(db, "UPDATE transcript_sessions SET turn_count = 0, bytes = 0, title = NULL WHERE id = ?").run(id);
    }
    return sessions.length;
  });
}

/** By key, for the sessions of our own store. */
export function deleteOwnTranscript(db: Database, sessionKey: string): number {
  const found = sql(db, "SELECT id FROM transcript_sessions WHERE session_key = ? AND harness = 'retinue'").all(
    sessionKey,
  );
  return found.reduce((count, row) => count + deleteTranscript(db, Number(row.id)), 0);
}

export function prune(
  db: Database,
  { olderThanDays, maxBytes, now }: { olderThanDays?: number; maxBytes?: number; now: number },
): number {
  let deleted = 0;
  if (olderThanDays !== undefined) {
    const old = sql(db, "SELECT id FROM transcript_sessions WHERE updated_at < ? AND turn_count > 0").all(
      now - olderThanDays * DAY,
    );
    for (const { id } of old) deleted += deleteTranscript(db, Number(id));
  }
  if (maxBytes !== undefined) deleted += shrink(db, maxBytes);
  return deleted;
}

/** The oldest go first. */
function shrink(db: Database, maxBytes: number): number {
  let deleted = 0;
  let total = Number(sql(db, "SELECT coalesce(sum(bytes), 0) AS n FROM transcript_sessions").get().n);
  const oldest = sql(
    db,
    "SELECT id, bytes FROM transcript_sessions WHERE turn_count > 0 ORDER BY updated_at, id",
  ).all();
  for (const { id, bytes } of oldest) {
    if (total <= maxBytes) break;
    deleted += deleteTranscript(db, Number(id));
    total -= Number(bytes);
  }
  return deleted;
}
