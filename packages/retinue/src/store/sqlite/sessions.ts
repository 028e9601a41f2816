/** The rows of sessions in SQLite: reading, listing, deleting. commit.ts creates and changes them. */
import type { Database } from "../sqlite-door.ts";
import type { Lease, SessionRows } from "../store.ts";
import type { Flush } from "./group-commit.ts";
import type { LastUses } from "./last-uses.ts";
import { leaseLost } from "./leases.ts";
import { columnOf, toSession } from "./session-row.ts";
import { inTransaction } from "./transaction.ts";
import type { SqliteTranscripts } from "./transcripts/transcripts.ts";

type Transcripts = Pick<SqliteTranscripts, "forget">;

interface SessionTableOptions {
  transcripts: Transcripts;
  uses: LastUses;
  scrub(): Promise<void>;
  /** Writes the commits that wait. */
  flush: Flush;
}

export function sessionTable(db: Database, { transcripts, uses, scrub, flush }: SessionTableOptions): SessionRows {
  const toRecord = (found: Record<string, unknown>) => uses.applied(toSession(found));
  const get = db.prepare("SELECT * FROM sessions WHERE id = ?");
  const children = db.prepare("SELECT * FROM sessions WHERE parent_id = ? ORDER BY created_at, rowid");
  return {
    async get(id) {
      const found = get.get(id);
      return found && toRecord(found);
    },
    async list(filter = {}) {
      const given = Object.entries(filter).filter(([, value]) => value !== undefined);
      const where = given.map(([name]) => ` AND ${columnOf(name)} = ?`).join("");
      return db
        .prepare(`SELECT * FROM sessions WHERE parent_id IS NULL${where} ORDER BY updated_at DESC, rowid DESC`)
        .all(...given.map(([, value]) => value))
        .map(toRecord)
        .sort((one, other) => other.updatedAt - one.updatedAt);
    },
    async children(parentId) {
      return children.all(parentId).map(toSession);
    },
    async delete(lease, { kinds }) {
      const held = flush();
      if (held) await held;
      const isDeleted = inTransaction(db, () => {
        const isHeld = db.prepare("DELETE FROM leases WHERE number = ? AND root_id = ?");
        if (isHeld.run(lease.number, lease.rootId).changes === 0) throw leaseLost(lease);
        uses.forget(lease.rootId);
        return deleteTree(db, lease, { kinds, transcripts });
      });
      await scrub();
      return isDeleted;
    },
  };
}

function deleteTree(
  db: Database,
  { rootId }: Lease,
  { kinds, transcripts }: { kinds: readonly string[]; transcripts: Transcripts },
): boolean {
  const tree = db.prepare("SELECT id FROM sessions WHERE root_id = ? AND id <> ?").all(rootId, rootId);
  const deleteInbox = db.prepare("DELETE FROM inbox WHERE session_id = ?");
  for (const id of [rootId, ...tree.map((row) => String(row.id))]) {
    deleteInbox.run(id);
    transcripts.forget(id);
  }
  db.prepare("DELETE FROM events WHERE root_id = ?").run(rootId);
  // The character after the slash ends the range of keys that begin with the id and a slash.
  const deleteDocuments = db.prepare("DELETE FROM documents WHERE kind = ? AND (key = ? OR (key >= ? AND key < ?))");
  for (const kind of kinds) deleteDocuments.run(kind, rootId, `${rootId}/`, `${rootId}0`);
  return Number(db.prepare("DELETE FROM sessions WHERE root_id = ?").run(rootId).changes) > 0;
}
