/** The transcripts in SQLite: every part of the port, and what the store does to them in its own transactions. */
import type { Database } from "../../sqlite-door.ts";
import type { TranscriptChange } from "../../transcript-records.ts";
import type { TranscriptStore } from "../../transcripts.ts";
import { sqliteCalls } from "./calls.ts";
import { applyChanges, recordBatch } from "./changes.ts";
import { sqliteCheckpoints } from "./checkpoints.ts";
import { sqliteEntities } from "./entities.ts";
import { deleteOwnTranscript, sqliteRetention } from "./retention.ts";
import { Rows } from "./rows.ts";
import { migrateTranscripts } from "./schema.ts";
import { sqliteAgents } from "./scope.ts";
import { sqliteSearch } from "./search.ts";
import { sqliteSessions, sqliteTurns } from "./session-rows.ts";
import { sqliteTokens } from "./tokens.ts";
import { sqliteIndex } from "./turn-index.ts";

export interface SqliteTranscripts {
  readonly transcripts: TranscriptStore;
  /** Runs in the open transaction, so that transcripts are never behind the events. */
  apply(changes: readonly TranscriptChange[]): void;
  /** Runs in the transaction that deletes one of our own sessions. */
  forget(sessionId: string): void;
}

/** Creates or migrates the tables. `path` is only for error messages. */
export function openTranscripts(
  db: Database,
  { path, scrub }: { path: string; scrub: () => Promise<void> },
): SqliteTranscripts {
  const rows = new Rows(db);
  migrateTranscripts(rows, path);
  return {
    transcripts: {
      record: async (batch) => recordBatch(rows, batch),
      sessions: sqliteSessions(rows),
      turns: sqliteTurns(rows),
      checkpoints: sqliteCheckpoints(rows),
      calls: sqliteCalls(rows),
      entities: sqliteEntities(rows),
      agents: sqliteAgents(rows),
      tokens: sqliteTokens(rows),
      retention: sqliteRetention(rows, scrub),
      index: sqliteIndex(rows),
      search: sqliteSearch(rows),
    },
    apply: (changes) => applyChanges(rows, changes),
    forget: (sessionId) => deleteOwnTranscript(rows, sessionId),
  };
}
