/** Transactions of the SQLite store, and its errors as `AppError`. */
import { AppError, messageOf } from "@retinue/protocol";
import type { Database } from "../sqlite-door.ts";

/** IMMEDIATE, so that two processes queue for the lock instead of failing half-way. */
export function inTransaction<T>(db: Database, work: () => T): T {
  return guarded(() => {
    db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      db.exec("COMMIT");
      return result;
    } catch (error) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  });
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("store_unavailable", `The store could not be written: ${messageOf(error)}`, { cause: error });
  }
}
