/** Transactions of the SQLite store, and its errors as `AppError`. */
import { AppError, messageOf } from "@retinue/protocol";
import { remembered } from "../../remembered.ts";
import type { Database } from "../sqlite-door.ts";

/** Thrown to roll back a transaction whose rows are not as the writer expects. */
export class Refused extends Error {}

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

/** The same functions; what they throw is an `AppError` too, also where there is no transaction: when they only read. */
export function inWords<T extends object>(table: T): T {
  const wrap = (value: unknown): unknown => {
    if (typeof value === "object" && value !== null) return inWords(value);
    if (typeof value !== "function") return value;
    return async (...args: unknown[]) => {
      try {
        return await value(...args);
      } catch (error) {
        if (error instanceof AppError || error instanceof Refused) throw error;
        throw new AppError("store_unavailable", `The store could not be read: ${messageOf(error)}`, { cause: error });
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
