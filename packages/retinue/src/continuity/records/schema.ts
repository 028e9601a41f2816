/**
 * The tables of continuity, in the same database file as the session store.
 *
 * Turns are append-only; their ids grow in the order in which they were stored, over all sessions. The full-text index keeps no text
 * of its own: it is fed in batches by turn-index.ts, which knows through `indexed_upto` how far it has come.
 */
import { AppError } from "@retinue/protocol";
import type { Database } from "../../store/sqlite-door.ts";
import { inTransaction } from "./transaction.ts";

const SCHEMA_VERSION = 1;

const SCHEMA = `
  CREATE TABLE transcript_sessions (
    id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL DEFAULT 'default', session_key TEXT NOT NULL, harness TEXT NOT NULL,
    project TEXT, title TEXT, parent_id INTEGER REFERENCES transcript_sessions (id) ON DELETE SET NULL, lineage TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, ended_at INTEGER, end_reason TEXT,
    turn_count INTEGER NOT NULL DEFAULT 0, next_seq INTEGER NOT NULL DEFAULT 1, bytes INTEGER NOT NULL DEFAULT 0, reading TEXT,
    UNIQUE (agent_id, session_key)
  );
  CREATE INDEX transcript_sessions_by_key ON transcript_sessions (session_key);
  CREATE INDEX transcript_sessions_by_parent ON transcript_sessions (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX transcript_sessions_by_project ON transcript_sessions (project, harness);
  CREATE TABLE transcript_turns (
    id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL, seq INTEGER NOT NULL, role TEXT NOT NULL, at INTEGER NOT NULL,
    tool TEXT, call_id TEXT, source_id TEXT, text TEXT NOT NULL
  );
  CREATE UNIQUE INDEX transcript_turns_by_session ON transcript_turns (session_id, seq);
  CREATE VIRTUAL TABLE transcript_index USING fts5 (
    text, session, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
  );
  INSERT INTO transcript_index (transcript_index, rank) VALUES ('automerge', 0), ('crisismerge', 1000), ('usermerge', 8);
  CREATE TABLE transcript_calls (
    call_id TEXT NOT NULL, session_id INTEGER NOT NULL, tool TEXT NOT NULL, at INTEGER NOT NULL, claimed_by INTEGER,
    PRIMARY KEY (call_id, session_id)
  ) WITHOUT ROWID;
  CREATE TABLE session_checkpoints (
    id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL, summary TEXT NOT NULL, entities TEXT NOT NULL DEFAULT '[]',
    upto_seq INTEGER NOT NULL, origin TEXT NOT NULL, created_at INTEGER NOT NULL
  );
  CREATE INDEX session_checkpoints_by_session ON session_checkpoints (session_id, id);
  CREATE TABLE entities (
    id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, name TEXT NOT NULL COLLATE NOCASE, created_at INTEGER NOT NULL,
    UNIQUE (agent_id, name)
  );
  CREATE TABLE entity_attributes (
    id INTEGER PRIMARY KEY, entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE, kind TEXT NOT NULL,
    content TEXT NOT NULL, created_at INTEGER NOT NULL, UNIQUE (entity_id, kind, content)
  );
  CREATE TABLE continuity_agents (
    agent_id TEXT PRIMARY KEY, reads TEXT NOT NULL DEFAULT 'isolated', visibility TEXT NOT NULL DEFAULT 'private'
  ) WITHOUT ROWID;
  CREATE TABLE continuity_tokens (
    hash TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, agent_id TEXT, project TEXT, created_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE continuity_meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO continuity_meta VALUES ('schema', ${SCHEMA_VERSION}), ('indexed_upto', 0);

  CREATE VIEW session_transcripts AS
    SELECT s.session_key, (
      SELECT group_concat(line, char(10)) FROM (
        SELECT CASE
          WHEN t.role = 'assistant' AND t.tool IS NOT NULL THEN 'Call ' || t.tool
          WHEN t.role = 'tool' THEN 'Result' ELSE upper(substr(t.role, 1, 1)) || substr(t.role, 2)
        END || ': ' || t.text AS line FROM transcript_turns t WHERE t.session_id = s.id ORDER BY t.seq
      )
    ) AS content, s.harness, s.project, s.agent_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', s.created_at / 1000.0, 'unixepoch') AS created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', s.updated_at / 1000.0, 'unixepoch') AS updated_at
    FROM transcript_sessions s WHERE s.turn_count > 0;
`;

/** Creates what is not there yet. Cheap when it is. */
export function migrateContinuity(db: Database): void {
  if (isMigrated(db)) return;
  inTransaction(db, () => {
    // Another process may have done it between the look and the lock.
    if (!isMigrated(db)) db.exec(SCHEMA);
  });
}

function isMigrated(db: Database): boolean {
  if (!db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'continuity_meta'").get()) return false;
  const version = Number(db.prepare("SELECT value FROM continuity_meta WHERE key = 'schema'").get()?.value);
  if (version > SCHEMA_VERSION)
    throw new AppError(
      "store_unavailable",
      `The transcripts in this home were written by a newer version of Retinue (schema ${version})`,
    );
  return true;
}
