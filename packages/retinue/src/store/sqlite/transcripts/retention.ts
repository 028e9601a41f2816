/** Deleting sessions with everything that is stored for them. */
import type { Retention } from "../../transcripts.ts";
import { subtree } from "./lineage.ts";
import type { Rows } from "./rows.ts";
import { ownSessions } from "./session-rows.ts";
import { dropFromIndex } from "./turn-index.ts";

export function sqliteRetention(rows: Rows, scrub: () => Promise<void>): Retention {
  return {
    async delete(sessionId) {
      const deleted = deleteTranscript(rows, sessionId);
      await scrub();
      return deleted;
    },
    async prune({ unusedSince, maxBytes }) {
      const old = unusedSince === undefined ? 0 : deleteOld(rows, unusedSince);
      const deleted = old + (maxBytes === undefined ? 0 : shrink(rows, maxBytes));
      if (deleted > 0) await scrub();
      return deleted;
    },
  };
}

/** Deletes the transcript of one of our own sessions. */
export function deleteOwnTranscript(rows: Rows, sessionKey: string): void {
  for (const id of ownSessions(rows, sessionKey)) deleteTranscript(rows, id);
}

function deleteTranscript(rows: Rows, sessionId: number): number {
  return rows.transaction(() => {
    const sessions = subtree(rows, sessionId);
    for (const id of sessions.toReversed()) {
      dropFromIndex(rows, id);
      rows.run("DELETE FROM session_checkpoints WHERE session_id = ?", id);
      rows.run("DELETE FROM transcript_calls WHERE session_id = ?", id);
      rows.run("DELETE FROM transcript_sessions WHERE id = ? AND reading IS NULL", id);
      rows.run("UPDATE transcript_sessions SET turn_count = 0, bytes = 0, title = NULL WHERE id = ?", id);
    }
    return sessions.length;
  });
}

function deleteOld(rows: Rows, unusedSince: number): number {
  const old = rows.all("SELECT id FROM transcript_sessions WHERE updated_at < ? AND turn_count > 0", unusedSince);
  return old.reduce((deleted, { id }) => deleted + deleteTranscript(rows, Number(id)), 0);
}

/** Deletes the oldest first. */
function shrink(rows: Rows, maxBytes: number): number {
  let deleted = 0;
  let total = Number(rows.get("SELECT coalesce(sum(bytes), 0) AS n FROM transcript_sessions")?.n);
  const oldest = rows.all("SELECT id, bytes FROM transcript_sessions WHERE turn_count > 0 ORDER BY updated_at, id");
  for (const { id, bytes } of oldest) {
    if (total <= maxBytes) break;
    deleted += deleteTranscript(rows, Number(id));
    total -= Number(bytes);
  }
  return deleted;
}
