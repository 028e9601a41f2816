/**
 * The tables of continuity, in the same database file as the session store, with a version of their own (`continuity_meta.schema`).
 *
 * Turns are append-only; their ids grow in the order in which they were stored, over all sessions. The full-text index keeps no text
 * of its own: turns are added in batches, and `indexed_upto` says how far it has got.
 */
import { AppError } from "@retinue/protocol";
import type { Rows } from "./rows.ts";

const FIRST = `
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
  INSERT INTO continuity_meta VALUES ('schema', 1), ('indexed_upto', 0);

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

/** Counts deletions, so that a batch for the index that was read before a deletion is refused after it. */
const COUNT_DELETIONS = "INSERT INTO continuity_meta VALUES ('deletions', 0)";

/** Each step leads to the version of its position in the list. Steps are only added, never changed. */
const MIGRATIONS = [FIRST, COUNT_DELETIONS];

/** Creates or migrates the tables. Cheap when there is nothing to do. */
export function migrateTranscripts(rows: Rows, path: string): void {
  if (isCurrent(rows, path)) return;
  rows.transaction(() => {
    // Another process may have done it before we got the lock.
    if (isCurrent(rows, path)) return;
    for (const migration of MIGRATIONS.slice(versionOf(rows))) rows.script(migration);
    rows.run("UPDATE continuity_meta SET value = ? WHERE key = 'schema'", MIGRATIONS.length);
  });
}

function isCurrent(rows: Rows, path: string): boolean {
  const version = versionOf(rows);
  if (version > MIGRATIONS.length) {
    const message = `${path} was written by a newer version of Retinue (continuity schema ${version})`;
    throw new AppError("store_unavailable", message);
  }
  return version === MIGRATIONS.length;
}

/** 0 before there are tables. */
function versionOf(rows: Rows): number {
  const hasTables = rows.get("SELECT 1 FROM sqlite_schema WHERE name = 'continuity_meta'") !== undefined;
  return hasTables ? Number(rows.get("SELECT value FROM continuity_meta WHERE key = 'schema'")?.value) : 0;
}
