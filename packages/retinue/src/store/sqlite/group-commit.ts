/**
 * Few transactions, however many sessions commit: the first batch of a turn of the event loop is written at once, and all that come
 * after it in that turn share one.
 *
 * A transaction costs more than what is in it: locks, and every page that it touches written anew. A group is all or nothing only on the
 * disk: when a batch is refused, each batch of the group is tried alone, so that no session pays for another. While another process holds
 * the file, everything waits in one group.
 */
import type { Database } from "../sqlite-door.ts";
import type { Batch } from "../store.ts";
import { inTransaction, isBusy, pauseAfter } from "./transaction.ts";

interface Waiting {
  batch: Batch;
  resolve(): void;
  reject(error: unknown): void;
}

export interface GroupCommit {
  commit(batch: Batch): Promise<void>;
  /** Resolves when nothing waits any more. Must come before anything that ends the right to write it. */
  flush(): Promise<void>;
}

/** `write` is called within a transaction. `undone` is told of each batch whose changes were rolled back. */
export function groupCommit(
  db: Database,
  { write, undone }: { write(batch: Batch): void; undone(batch: Batch): void },
): GroupCommit {
  let waiting: Waiting[] = [];
  let hasCommitted = false; // In this turn of the event loop.
  let tries = 0; // Since another process holds the file.
  let isHeldUp = false;
  const onWritten: (() => void)[] = [];

  const writeAll = (group: readonly Waiting[]) => {
    try {
      inTransaction(db, () => {
        for (const { batch } of group) write(batch);
      });
    } catch (error) {
      for (const { batch } of group) undone(batch);
      throw error;
    }
    for (const { resolve } of group) resolve();
  };

  const writeAlone = (each: Waiting) => {
    try {
      writeAll([each]);
    } catch (error) {
      each.reject(error);
    }
  };

  const writeWaiting = () => {
    if (isHeldUp) return;
    const group = waiting;
    waiting = [];
    try {
      if (group.length > 0) writeAll(group); // An empty transaction would take its locks like any other.
    } catch (error) {
      if (isBusy(error)) return holdUp(group, error);
      if (group.length === 1) group[0]?.reject(error);
      else for (const each of group) writeAlone(each);
    }
    tries = 0;
    for (const written of onWritten.splice(0)) written();
  };

  const holdUp = (group: readonly Waiting[], error: unknown) => {
    const pause = pauseAfter(++tries);
    waiting = [...group, ...waiting];
    isHeldUp = true;
    if (pause !== undefined) setTimeout(goOn, pause);
    else refuseAll(error);
  };

  const goOn = () => {
    isHeldUp = false;
    writeWaiting();
  };

  const refuseAll = (error: unknown) => {
    for (const { reject } of waiting.splice(0)) reject(error);
    goOn();
  };

  return {
    commit(batch) {
      return new Promise((resolve, reject) => {
        waiting.push({ batch, resolve, reject });
        if (hasCommitted || isHeldUp) return;
        hasCommitted = true;
        setImmediate(() => {
          hasCommitted = false;
          writeWaiting();
        });
        writeWaiting();
      });
    },
    async flush() {
      writeWaiting();
      if (isHeldUp) await new Promise<void>((resolve) => void onWritten.push(resolve));
    },
  };
}
