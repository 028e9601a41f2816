/**
 * Few transactions, however many sessions commit: the first batch of a turn of the event loop is written at once, and all that come
 * after it in that turn share one.
 *
 * A transaction costs more than what is in it: locks, and every page that it touches written anew. A group is all or nothing only on the
 * disk: when a batch is refused, each batch of the group is tried alone, so that no session pays for another.
 */
import type { Database } from "../sqlite-door.ts";
import type { Batch } from "../store.ts";
import { inTransaction } from "./transaction.ts";

interface Waiting {
  batch: Batch;
  resolve(): void;
  reject(error: unknown): void;
}

export interface GroupCommit {
  commit(batch: Batch): Promise<void>;
  /** Writes what waits now. Must come before anything that ends the right to write it. */
  flush(): void;
}

/** `write` is called within a transaction. `undone` is told of each batch whose changes were rolled back. */
export function groupCommit(
  db: Database,
  { write, undone }: { write(batch: Batch): void; undone(batch: Batch): void },
): GroupCommit {
  let waiting: Waiting[] = [];
  let hasCommitted = false; // In this turn of the event loop.

  const writeAll = (batches: readonly Batch[], onBegun = () => {}) => {
    try {
      inTransaction(db, () => {
        onBegun();
        for (const batch of batches) write(batch);
      });
    } catch (error) {
      for (const batch of batches) undone(batch);
      throw error;
    }
  };

  const writeAlone = ({ batch, resolve, reject }: Waiting) => {
    try {
      writeAll([batch]);
      resolve();
    } catch (error) {
      reject(error);
    }
  };

  const flush = () => {
    const group = waiting;
    waiting = [];
    const [only, ...others] = group;
    if (!only) return; // An empty transaction takes its locks like any other.
    if (others.length === 0) return writeAlone(only);
    let hasBegun = false;
    try {
      writeAll(
        group.map(({ batch }) => batch),
        () => {
          hasBegun = true;
        },
      );
      for (const { resolve } of group) resolve();
    } catch (error) {
      // A store that is locked refuses them all, and each further try would hold up the process as long as the first.
      if (hasBegun) for (const each of group) writeAlone(each);
      else for (const { reject } of group) reject(error);
    }
  };

  return {
    async commit(batch) {
      if (hasCommitted) return await new Promise((resolve, reject) => void waiting.push({ batch, resolve, reject }));
      hasCommitted = true;
      setImmediate(() => {
        hasCommitted = false;
        flush();
      });
      writeAll([batch]);
    },
    flush,
  };
}
