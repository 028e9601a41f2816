/**
 * The one door to SQLite: Node's own module where it is usable without a flag, the same API from npm elsewhere.
 *
 * Both are synchronous. What is in a database is the business of whoever opens it.
 */
import { createRequire } from "node:module";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";

export type Database = DatabaseSyncInstance;
export type Statement = StatementSyncInstance;

const require = createRequire(import.meta.url);

export function openDatabase(path: string): Database {
  const { DatabaseSync } = library();
  return new DatabaseSync(path);
}

/** Node 22 warns on every start that its module may change; we use the part that both libraries have, and nobody can act on the warning. */
function library(): typeof import("@photostructure/sqlite") {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return require(sqliteModule());
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** What another process of this Node requires to get the same library. */
export function sqliteLibrary(): string {
  return require.resolve(sqliteModule());
}

function sqliteModule(): string {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 13) ? "node:sqlite" : "@photostructure/sqlite";
}
