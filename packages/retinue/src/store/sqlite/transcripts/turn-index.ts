/**
 * The full-text index over turns. It keeps no text of its own; `indexed_upto` says how far it has got.
 *
 * Indexing turn by turn makes FTS5 write about forty times the size of the turn, a batch five times. So turns wait for a batch.
 */
import type { IndexMark, TurnIndex } from "../../transcripts.ts";
import { Refused } from "../transaction.ts";
import { type Rows, text } from "./rows.ts";

export function sqliteIndex(rows: Rows): TurnIndex {
  return {
    async backlog(upto) {
      return backlog(rows, upto);
    },
    async next(limit) {
      const mark = markOf(rows);
      const sql = "SELECT id, session_id, text, tool FROM transcript_turns WHERE id > ? ORDER BY id LIMIT ?";
      const turns = rows.all(sql, mark.indexedUpto, limit).map((row) => ({
        id: Number(row.id),
        sessionId: Number(row.session_id),
        text: String(row.text),
        tool: text(row.tool),
      }));
      return { mark, turns };
    },
    async add(mark, entries) {
      return addToIndex(rows, { mark, entries });
    },
    async tidy(pages = 200) {
      return rows.transaction(() => {
        const before = changesOf(rows);
        rows.run("INSERT INTO transcript_index (transcript_index, rank) VALUES ('merge', ?)", pages);
        // According to the FTS5 documentation, fewer than two changed rows mean that there was nothing to merge.
        return changesOf(rows) - before >= 2;
      });
    },
    async writes() {
      return changesOf(rows);
    },
  };
}

/** The limit is part of the SQL, because SQLite plans a statement again whenever a limit is bound. */
export function backlog(rows: Rows, upto: number): number {
  const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM transcript_turns
    WHERE id > (SELECT value FROM continuity_meta WHERE key = 'indexed_upto') LIMIT ${Math.trunc(upto)})`;
  return Number(rows.get(sql)?.n);
}

export function indexedUpto(rows: Rows): number {
  return metaOf(rows, "indexed_upto");
}

const metaOf = (rows: Rows, key: string) =>
  Number(rows.get("SELECT value FROM continuity_meta WHERE key = ?", key)?.value ?? 0);
const markOf = (rows: Rows): IndexMark => ({ indexedUpto: indexedUpto(rows), deletions: metaOf(rows, "deletions") });
const changesOf = (rows: Rows) => Number(rows.get("SELECT total_changes() AS n")?.n);

function addToIndex(
  rows: Rows,
  { mark, entries }: { mark: IndexMark; entries: Parameters<TurnIndex["add"]>[1] },
): boolean {
  const last = entries.at(-1);
  if (!last) return true;
  try {
    rows.transaction(() => {
      const now = markOf(rows);
      if (now.indexedUpto !== mark.indexedUpto || now.deletions !== mark.deletions) throw new Refused();
      for (const { id, sessionId, words } of entries)
        rows.run("INSERT INTO transcript_index (rowid, text, session) VALUES (?, ?, ?)", id, words, `s${sessionId}`);
      rows.run("UPDATE continuity_meta SET value = ? WHERE key = 'indexed_upto'", last.id);
    });
    return true;
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
}

/** Removes a session's turns, also from the index. The ids of the last turns may be reused, so `indexed_upto` moves back with them. */
export function dropFromIndex(rows: Rows, sessionId: number): void {
  rows.run(
    "DELETE FROM transcript_index WHERE rowid IN (SELECT id FROM transcript_turns WHERE session_id = ?)",
    sessionId,
  );
  rows.run("DELETE FROM transcript_turns WHERE session_id = ?", sessionId);
  rows.run(
    "UPDATE continuity_meta SET value = min(value, coalesce((SELECT max(id) FROM transcript_turns), 0)) WHERE key = 'indexed_upto'",
  );
  rows.run("UPDATE continuity_meta SET value = value + 1 WHERE key = 'deletions'");
}
