/**
 * The session's own database for the `sql` tool: todos and whatever the model puts beside them.
 *
 * Opened for each use and closed after it, so that it needs no owner. No other file can be reached from it.
 */
import path from "node:path";
import { type Database, openDatabase } from "../store/sqlite-door.ts";
import type { SqlStatement } from "./sql-statements.ts";

export const MAX_ROWS = 1000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS todos (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    description TEXT,
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'in_progress', 'done', 'blocked')),
    created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
  );
  CREATE TABLE IF NOT EXISTS todo_deps (
    todo_id TEXT NOT NULL REFERENCES todos (id) ON DELETE CASCADE,
    depends_on TEXT NOT NULL REFERENCES todos (id) ON DELETE CASCADE,
    PRIMARY KEY (todo_id, depends_on)
  );
  CREATE TRIGGER IF NOT EXISTS todos_touch AFTER UPDATE OF title, description, status ON todos BEGIN
    UPDATE todos SET updated_at = CURRENT_TIMESTAMP WHERE id = new.id;
  END;
`;

export interface SqlResult {
  rows: Record<string, unknown>[];
  /** There are more rows. */
  isCut: boolean;
  /** Of the last statement that changed rows, which need not be this one. */
  changes: number;
  lastId: number;
}

export function withSessionDatabase<T>(sessionFolder: string, use: (db: Database) => T): T {
  const db = openDatabase(path.join(sessionFolder, "session.db"));
  try {
    db.exec("PRAGMA busy_timeout = 2000; PRAGMA foreign_keys = ON;");
    db.exec(SCHEMA);
    return use(db);
  } finally {
    db.close();
  }
}

/** All of them, or none. */
export function runStatements(db: Database, statements: readonly SqlStatement[]): SqlResult[] {
  const refused = statements.find(reachesOut);
  if (refused) throw new Error(`${refused.verb} is not allowed here`);
  if (statements.length === 1 || statements.some(managesTransactions))
    return statements.map((each) => runStatement(db, each));
  db.exec("BEGIN");
  try {
    const results = statements.map((each) => runStatement(db, each));
    db.exec("COMMIT");
    return results;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

const TRANSACTIONS = new Set(["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "VACUUM"]);
const managesTransactions = ({ verb }: SqlStatement) => TRANSACTIONS.has(verb);

/** The tool asks for no permission, so it must not get at other files. */
const reachesOut = ({ verb, text }: SqlStatement) =>
  verb === "ATTACH" || verb === "DETACH" || (verb === "VACUUM" && /\binto\b/i.test(text));

function runStatement(db: Database, { text }: SqlStatement): SqlResult {
  const statement = db.prepare(text);
  statement.setReadBigInts(true);
  const rows: Record<string, unknown>[] = [];
  let isCut = false;
  for (const row of statement.iterate()) {
    isCut = rows.length === MAX_ROWS;
    if (isCut) break;
    rows.push(Object.fromEntries(Object.entries(row)));
  }
  return { rows, isCut, ...lastChange(db) };
}

function lastChange(db: Database): Pick<SqlResult, "changes" | "lastId"> {
  const { changes, id } = Object(db.prepare("SELECT changes() AS changes, last_insert_rowid() AS id").get());
  return { changes: Number(changes), lastId: Number(id) };
}
