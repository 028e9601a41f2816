/**
 * Transactions of the SQLite store, its errors as `AppError`, and its patience with other processes.
 *
 * A process that writes holds the file for a moment. SQLite can wait for that, but everything in this process waits with it. So one try
 * is short, and between tries everything else goes on.
 */
import { setTimeout } from "node:timers/promises";
import { AppError, messageOf } from "@retinue/protocol";
import { remembered } from "../../remembered.ts";
import type { Database } from "../sqlite-door.ts";

/** Thrown to roll back a transaction whose rows are not as the writer expects. */
export class Refused extends Error {}

/** How long one try may wait for another process. */
export const TRY_MS = 20;
/** With their pauses, about five seconds. */
const TRIES = 26;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 200;

/** How long to wait after so many tries; undefined when that was the last one. */
export function pauseAfter(tries: number): number | undefined {
  return tries < TRIES ? Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS) : undefined;
}

/** Another process holds the file, and nothing was done. */
export function isBusy(error: unknown): boolean {
  const cause = error instanceof AppError ? error.cause : error;
  return cause instanceof Error && cause.message.startsWith("database is locked");
}

/** IMMEDIATE, so that two processes queue for the lock instead of failing half-way. */
const bounds = remembered((db: Database) => ({ begin: db.prepare("BEGIN IMMEDIATE"), commit: db.prepare("COMMIT") }));

export function inTransaction<T>(db: Database, work: () => T): T {
  return guarded(() => {
    const { begin, commit } = bounds(db);
    begin.run();
    try {
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      // SQLite has already rolled back when the disk is full.
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  });
}

/**
 * The same functions, each tried again while another process holds the file. What they throw is an `AppError` too, also where there is no
 * transaction: when they only read.
 */
export function inWords<T extends object>(table: T): T {
  const wrap = (value: unknown): unknown => {
    if (typeof value === "object" && value !== null) return inWords(value);
    if (typeof value !== "function") return value;
    return async (...args: unknown[]) => {
      for (let tries = 1; ; tries++) {
        try {
          return await value(...args);
        } catch (error) {
          const pause = isBusy(error) ? pauseAfter(tries) : undefined;
          if (pause !== undefined) await setTimeout(pause);
          else if (error instanceof AppError || error instanceof Refused) throw error;
          else
            throw new AppError("store_unavailable", `The store could not be read: ${messageOf(error)}`, {
              cause: error,
            });
        }
      }
    };
  };
  return Object.fromEntries(Object.entries(table).map(([name, value]) => [name, wrap(value)])) as T;
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError || error instanceof Refused) throw error;
    throw new AppError("store_unavailable", `The store could not be written: ${messageOf(error)}`, { cause: error });
  }
}
