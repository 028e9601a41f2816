/**
 * The file of the SQLite store: how it is opened, its tables, and the migration of older files.
 *
 * Each version is one step. All steps that a file still needs run in one transaction.
 */
import { AppError } from "@retinue/protocol";
import { type Database, openDatabase } from "../sqlite-door.ts";
import { systemWords } from "../system-words.ts";
import { BOARD_TABLES } from "./boards.ts";
import { type Scrubber, scrubber } from "./scrub.ts";
import { inTransaction, TRY_MS } from "./transaction.ts";
import { openTranscripts, type SqliteTranscripts } from "./transcripts/transcripts.ts";

const FIRST = `
  CREATE TABLE sessions (
    id TEXT PRIMARY KEY, root_id TEXT NOT NULL, parent_id TEXT, cwd TEXT NOT NULL, git_root TEXT, repository TEXT,
    branch TEXT, client_name TEXT, name TEXT, user_named INTEGER NOT NULL DEFAULT 0, summary TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
  );
  CREATE INDEX sessions_by_use ON sessions (updated_at) WHERE parent_id IS NULL;
  CREATE INDEX sessions_by_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX sessions_by_root ON sessions (root_id);
  CREATE TABLE events (
    pos INTEGER PRIMARY KEY AUTOINCREMENT, root_id TEXT NOT NULL, session_id TEXT NOT NULL,
    type TEXT NOT NULL, id TEXT NOT NULL, json TEXT NOT NULL
  );
  CREATE INDEX events_by_root ON events (root_id, pos);
  CREATE TABLE inbox (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, json TEXT NOT NULL
  );
  CREATE INDEX inbox_by_session ON inbox (session_id, n);
  CREATE TABLE documents (
    kind TEXT NOT NULL, key TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (kind, key)
  ) WITHOUT ROWID;
  CREATE TABLE writers (root_id TEXT PRIMARY KEY, pid INTEGER NOT NULL, started_at INTEGER NOT NULL) WITHOUT ROWID;
`;

/**
 * Leases are numbered, and AUTOINCREMENT never gives a number twice. Documents and waiting prompts have versions. Standing permissions
 * are one document per answer, so that two sessions can add to them at the same time.
 */
const SECOND = `
  CREATE TABLE leases (
    number INTEGER PRIMARY KEY AUTOINCREMENT, root_id TEXT NOT NULL UNIQUE, pid INTEGER NOT NULL, started_at INTEGER NOT NULL
  );
  INSERT INTO leases (root_id, pid, started_at) SELECT root_id, pid, started_at FROM writers;
  DROP TABLE writers;
  ALTER TABLE inbox ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE documents ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
  INSERT OR IGNORE INTO documents (kind, key, json)
    SELECT 'allowed-domain', each.value, json_object('domain', each.value)
    FROM documents d, json_each(iif(json_valid(d.json), d.json, '[]')) each WHERE d.kind = 'approvals' AND d.key = '*domains';
  INSERT OR IGNORE INTO documents (kind, key, json)
    SELECT 'folder-approval', d.key || char(10) || each.value, each.value
    FROM documents d, json_each(iif(json_valid(d.json), d.json, '[]')) each WHERE d.kind = 'approvals' AND d.key <> '*domains';
  INSERT OR IGNORE INTO documents (kind, key, json)
    SELECT 'folder-rule', d.key || char(10) || each.value, each.value
    FROM documents d, json_each(iif(json_valid(d.json), d.json, '[]')) each WHERE d.kind = 'location-rules';
  DELETE FROM documents WHERE kind IN ('approvals', 'location-rules');
`;

/** What waits is in one tree of pages: an item comes and goes with every prompt. */
const THIRD = `
  CREATE TABLE waiting (
    session_id TEXT NOT NULL, id TEXT NOT NULL, n INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 1, json TEXT NOT NULL,
    PRIMARY KEY (session_id, id)
  ) WITHOUT ROWID;
  INSERT INTO waiting (session_id, id, n, version, json) SELECT session_id, id, n, version, json FROM inbox;
  DROP TABLE inbox;
  ALTER TABLE waiting RENAME TO inbox;
`;

const STEPS: readonly string[] = [FIRST, SECOND, THIRD, BOARD_TABLES];

export interface StoreFile {
  db: Database;
  scrubber: Scrubber;
  transcripts: SqliteTranscripts;
}

/** The transcripts are in the same file, with tables and a version of their own. */
export function openStoreFile(path: string): StoreFile {
  let db: Database | undefined;
  try {
    db = openDatabase(path);
    // Small pages in a new file: an append touches three or four of them, and each is written as a whole.
    // What is deleted is overwritten; an append frees no page, so it costs nothing there.
    db.exec(
      "PRAGMA busy_timeout = 5000; PRAGMA page_size = 2048; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;",
    );
    update(db, path);
    db.exec(`PRAGMA busy_timeout = ${TRY_MS}`); // From now on others here would wait too.
    const own = scrubber(db);
    return { db, scrubber: own, transcripts: openTranscripts(db, { path, scrub: own.run }) };
  } catch (error) {
    db?.close();
    if (error instanceof AppError) throw error;
    throw new AppError("store_unavailable", `Cannot open the store ${path}: ${systemWords(error)}`, { cause: error });
  }
}

function update(db: Database, path: string): void {
  if (versionOf(db, path) === STEPS.length) return;
  inTransaction(db, () => {
    // Another process may have done it before we got the lock.
    for (const step of STEPS.slice(versionOf(db, path))) db.exec(step);
    db.exec(`PRAGMA user_version = ${STEPS.length}`);
  });
}

function versionOf(db: Database, path: string): number {
  const version = Number(db.prepare("PRAGMA user_version").get()?.user_version);
  if (version > STEPS.length)
    throw new AppError("store_unavailable", `${path} was written by a newer version of Retinue (schema ${version})`);
  return version;
}
