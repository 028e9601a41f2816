/** Leases in SQLite: the process that holds one, and a number that is given out once. */
import { AppError } from "@retinue/protocol";
import type { Database } from "../sqlite-door.ts";
import type { Holder, Lease, Leases } from "../store.ts";
import type { Flush } from "./group-commit.ts";
import type { LastUses } from "./last-uses.ts";
import { inTransaction } from "./transaction.ts";

export function leaseTable(
  db: Database,
  { isAlive, uses, flush }: { isAlive: (holder: Holder) => boolean; uses: LastUses; flush: Flush },
): Leases {
  const holder = db.prepare("SELECT pid, started_at FROM leases WHERE root_id = ?");
  const drop = db.prepare("DELETE FROM leases WHERE root_id = ?");
  const add = db.prepare("INSERT INTO leases (root_id, pid, started_at) VALUES (?, ?, ?)");
  const release = db.prepare("DELETE FROM leases WHERE number = ? AND root_id = ?");
  const livingHolder = (rootId: string): Holder | undefined => {
    const found = holder.get(rootId);
    const other = found && { pid: Number(found.pid), startedAt: Number(found.started_at) };
    return other && isAlive(other) ? other : undefined;
  };
  return {
    async acquire(rootId, { pid, startedAt }) {
      const held = flush();
      if (held) await held;
      return inTransaction(db, () => {
        const heldBy = livingHolder(rootId);
        if (heldBy && (heldBy.pid !== pid || heldBy.startedAt !== startedAt)) return { heldBy };
        drop.run(rootId);
        return { lease: { rootId, number: Number(add.run(rootId, pid, startedAt).lastInsertRowid) } };
      });
    },
    async holder(rootId) {
      return livingHolder(rootId);
    },
    async release(lease) {
      const held = flush();
      if (held) await held;
      inTransaction(db, () => {
        if (release.run(lease.number, lease.rootId).changes > 0) uses.end(lease.rootId);
      });
    },
  };
}

export function leaseLost({ rootId }: Lease): AppError {
  return new AppError(
    "lease_lost",
    `Session ${rootId} is no longer written from here: it was opened elsewhere, closed or deleted since. Resume it to go on with what is stored.`,
  );
}
