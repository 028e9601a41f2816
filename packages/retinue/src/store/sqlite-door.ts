/**
 * Opens SQLite databases: with Node's own module where it needs no flag, else with a package that has the same API.
 *
 * Both are synchronous. Callers own their tables.
 */
import { createRequire } from "node:module";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import { makePrivateFile } from "./private-files.ts";

export type Database = DatabaseSyncInstance;
export type Statement = StatementSyncInstance;

const require = createRequire(import.meta.url);

export function openDatabase(path: string): Database {
  if (path !== ":memory:") makePrivateFile(path);
  const { DatabaseSync } = library();
  return new DatabaseSync(path);
}

/** Node 22 warns on every start that its module is experimental. We use only what both modules have, and users cannot act on the warning. */
function library(): typeof import("@photostructure/sqlite") {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return require(sqliteModule());
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** The name with which another process of this Node can require the same module. */
export function sqliteLibrary(): string {
  return require.resolve(sqliteModule());
}

function sqliteModule(): string {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 13) ? "node:sqlite" : "@photostructure/sqlite";
}
