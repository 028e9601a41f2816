/**
 * The only way to write a session: a batch, within one transaction, by the holder of the lease.
 *
 * The lease is checked inside the transaction: a writer that lost it commits nothing. Which batches share a transaction is in
 * group-commit.ts.
 */
import type { Database } from "../sqlite-door.ts";
import type { Batch } from "../store.ts";
import { writeDocuments } from "./documents.ts";
import type { LastUses } from "./last-uses.ts";
import { leaseLost } from "./leases.ts";
import { columnOf, rowOf } from "./session-row.ts";
import type { SqliteTranscripts } from "./transcripts/transcripts.ts";

/** Must be called in a transaction. Transcripts are written in the same one, so that they are never behind the events. */
export function batchWriter(
  db: Database,
  { transcripts, uses }: { transcripts: SqliteTranscripts; uses: LastUses },
): (batch: Batch) => void {
  const create = db.prepare(
    "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const isHeld = db.prepare("SELECT 1 FROM leases WHERE number = ? AND root_id = ?");
  const append = db.prepare("INSERT INTO events (root_id, session_id, type, id, json) VALUES (?, ?, ?, ?, ?)");
  const addToInbox = db.prepare(
    `INSERT INTO inbox (session_id, id, version, json, n)
     VALUES (?1, ?2, ?3, ?4, (SELECT coalesce(max(n), 0) + 1 FROM inbox WHERE session_id = ?1))`,
  );
  const removeFromInbox = db.prepare("DELETE FROM inbox WHERE session_id = ? AND id = ?");
  const write = writeDocuments(db);

  return (batch) => {
    const { lease, at, created = [], changed, cutFrom, deleted = [], events = [], inbox = [] } = batch;
    const { rootId, number } = lease;
    if (!isHeld.get(number, rootId)) throw leaseLost(lease);
    for (const session of created) create.run(...rowOf(session));
    uses.note(rootId, at);
    if (changed) change(db, rootId, changed);
    if (cutFrom !== undefined) cut(db, rootId, cutFrom);
    for (const id of deleted) {
      deleteChild(db, rootId, id);
      transcripts.forget(id);
    }
    for (const event of events) append.run(rootId, event.sessionId, event.type, event.id, event.json);
    for (const item of inbox) {
      if ("add" in item) addToInbox.run(item.add.sessionId, item.add.id, item.add.version, item.add.json);
      else removeFromInbox.run(item.remove.sessionId, item.remove.id);
    }
    write(batch.documents ?? []);
    if (batch.transcript) transcripts.apply(batch.transcript);
  };
}

function change(db: Database, id: string, changed: NonNullable<Batch["changed"]>): void {
  const columns = Object.entries(changed).filter(([, value]) => value !== undefined);
  if (columns.length === 0) return;
  const assignments = columns.map(([name]) => `${columnOf(name)} = ?`);
  const values = columns.map(([, value]) => (typeof value === "boolean" ? Number(value) : value));
  db.prepare(`UPDATE sessions SET ${assignments.join(", ")} WHERE id = ?`).run(...values, id);
}

function cut(db: Database, rootId: string, eventId: string): void {
  const found = db.prepare("SELECT pos FROM events WHERE root_id = ? AND id = ?").get(rootId, eventId);
  if (found) db.prepare("DELETE FROM events WHERE root_id = ? AND pos >= ?").run(rootId, Number(found.pos));
}

function deleteChild(db: Database, rootId: string, id: string): void {
  db.prepare("DELETE FROM inbox WHERE session_id = ?").run(id);
  db.prepare("DELETE FROM sessions WHERE id = ? AND root_id = ? AND parent_id IS NOT NULL").run(id, rootId);
}
