/** One write to the continuity tables: all of it, or nothing. Joins a transaction that is open already. */
import { AppError, messageOf } from "@retinue/protocol";
import type { Database, Statement } from "../../store/sqlite-door.ts";

export function inTransaction<T>(db: Database, work: () => T): T {
  if (db.isTransaction) return work();
  try {
    db.exec("BEGIN IMMEDIATE");
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    // SQLite has already rolled back when the disk is full.
    if (db.isTransaction) db.exec("ROLLBACK");
    if (error instanceof AppError) throw error;
    throw new AppError("store_unavailable", `The store could not be written: ${messageOf(error)}`, { cause: error });
  }
}

const prepared = new WeakMap<Database, Map<string, Statement>>();

/** The statement of this SQL text, prepared once per database. */
export function sql(db: Database, text: string): Statement {
  let statements = prepared.get(db);
  if (!statements) {
    statements = new Map();
    prepared.set(db, statements);
  }
  let statement = statements.get(text);
  if (!statement) {
    statement = db.prepare(text);
    statements.set(text, statement);
  }
  return statement;
}
