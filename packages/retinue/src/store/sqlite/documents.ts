/** Documents in SQLite: one row each, by kind and key. */
import type { Database } from "../sqlite-door.ts";
import type { DocumentChange, Documents, StoredDocument } from "../store.ts";
import { inTransaction } from "./transaction.ts";

export function documentTable(db: Database): Documents {
  const columns = "kind, key, version, json";
  const get = db.prepare(`SELECT ${columns} FROM documents WHERE kind = ? AND key = ?`);
  const list = db.prepare(`SELECT ${columns} FROM documents WHERE kind = ? AND key >= ? AND key < ? ORDER BY key`);
  const write = writeDocuments(db);
  return {
    async get(kind, key) {
      const found = get.get(kind, key);
      return found && toDocument(found);
    },
    async list(kind, keyPrefix) {
      return list.all(kind, keyPrefix, `${keyPrefix}\u{10ffff}`).map(toDocument);
    },
    async write(changes) {
      inTransaction(db, () => write(changes));
    },
  };
}

/** Must be called in a transaction. */
export function writeDocuments(db: Database): (changes: readonly DocumentChange[]) => void {
  const put = db.prepare(
    "INSERT INTO documents (kind, key, version, json) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, json = excluded.json",
  );
  const remove = db.prepare("DELETE FROM documents WHERE kind = ? AND key = ?");
  return (changes) => {
    for (const change of changes) {
      if ("put" in change) put.run(change.put.kind, change.put.key, change.put.version, change.put.json);
      else remove.run(change.remove.kind, change.remove.key);
    }
  };
}

function toDocument({ kind, key, version, json }: Record<string, unknown>): StoredDocument {
  return { kind: String(kind), key: String(key), version: Number(version), json: String(json) };
}
