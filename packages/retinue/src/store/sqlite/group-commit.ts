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

export type Flush = GroupCommit["flush"];

export interface GroupCommitOptions {
  /** Called within a transaction. */
  write(batch: Batch): void;
  /** The changes of this batch were rolled back. */
  undone(batch: Batch): void;
}

export class GroupCommit {
  readonly #db: Database;
  readonly #options: GroupCommitOptions;
  readonly #onWritten: (() => void)[] = [];
  #waiting: Waiting[] = [];
  /** In this turn of the event loop. */
  #hasCommitted = false;
  /** Another process holds the file. */
  #isHeldUp = false;
  #tries = 0;

  constructor(db: Database, options: GroupCommitOptions) {
    this.#db = db;
    this.#options = options;
  }

  commit(batch: Batch): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, resolve, reject });
      if (this.#hasCommitted || this.#isHeldUp) return;
      this.#hasCommitted = true;
      setImmediate(() => {
        this.#hasCommitted = false;
        this.#writeWaiting();
      });
      this.#writeWaiting();
    });
  }

  /** Writes what waits; a promise when that must wait. Must come before anything that ends the right to write it. */
  flush(): Promise<void> | undefined {
    this.#writeWaiting();
    return this.#isHeldUp ? new Promise((resolve) => void this.#onWritten.push(resolve)) : undefined;
  }

  #writeWaiting(): void {
    if (this.#isHeldUp) return;
    const group = this.#waiting;
    this.#waiting = [];
    try {
      if (group.length > 0) this.#write(group); // An empty transaction would take its locks like any other.
    } catch (error) {
      if (isBusy(error)) {
        this.#holdUp(group, error);
        return;
      }
      if (group.length === 1) group[0]?.reject(error);
      else for (const each of group) this.#writeAlone(each);
    }
    this.#tries = 0;
    for (const written of this.#onWritten.splice(0)) written();
  }

  #writeAlone(each: Waiting): void {
    try {
      this.#write([each]);
    } catch (error) {
      each.reject(error);
    }
  }

  #write(group: readonly Waiting[]): void {
    const { write, undone } = this.#options;
    try {
      inTransaction(this.#db, () => {
        for (const { batch } of group) write(batch);
      });
    } catch (error) {
      for (const { batch } of group) undone(batch);
      throw error;
    }
    for (const { resolve } of group) resolve();
  }

  #holdUp(group: readonly Waiting[], error: unknown): void {
    const pause = pauseAfter(++this.#tries);
    this.#waiting = [...group, ...this.#waiting];
    this.#isHeldUp = true;
    if (pause !== undefined) {
      setTimeout(() => this.#goOn(), pause);
      return;
    }
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    this.#goOn();
  }

  #goOn(): void {
    this.#isHeldUp = false;
    this.#writeWaiting();
  }
}
