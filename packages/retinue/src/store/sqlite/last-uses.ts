/**
 * When each session was last used. The row of a session and its index are written at most once a second, since most commits follow
 * one another closely; what is newer is kept here until then, or until the lease is released.
 */
import type { Database } from "../sqlite-door.ts";
import type { SessionRecord } from "../store.ts";

const WRITE_EVERY_MS = 1_000;

export interface LastUses {
  /** Notes a use, within the transaction of its commit. */
  note(rootId: string, at: number): void;
  /** Writes what is not written yet; nobody will note a use after this. */
  end(rootId: string): void;
  forget(rootId: string): void;
  /** The record with its latest use. */
  applied(record: SessionRecord): SessionRecord;
}

export function lastUses(db: Database): LastUses {
  const write = db.prepare("UPDATE sessions SET updated_at = ? WHERE id = ?");
  const known = new Map<string, { written: number; latest: number }>();
  return {
    note(rootId, at) {
      const use = known.get(rootId);
      if (use && at >= use.written && at - use.written < WRITE_EVERY_MS) {
        use.latest = at;
        return;
      }
      write.run(at, rootId);
      known.set(rootId, { written: at, latest: at });
    },
    end(rootId) {
      const use = known.get(rootId);
      if (use && use.latest !== use.written) write.run(use.latest, rootId);
      known.delete(rootId);
    },
    forget(rootId) {
      known.delete(rootId);
    },
    applied(record) {
      const latest = known.get(record.id)?.latest ?? record.updatedAt;
      return latest > record.updatedAt ? { ...record, updatedAt: latest } : record;
    },
  };
}
