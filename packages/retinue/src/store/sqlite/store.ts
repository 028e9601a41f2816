/**
 * The store in SQLite (WAL): one file in the home folder, shared by every process that uses that home.
 *
 * SQLite is synchronous: what is asked for is done at once, but for commits that share a transaction with others, and while another process
 * holds the file. Statements of hot paths are prepared once.
 */
import { isProcessAlive } from "../holder.ts";
import type { Database } from "../sqlite-door.ts";
import type { Holder, Store } from "../store.ts";
import { boardTable } from "./boards.ts";
import { batchWriter } from "./commit.ts";
import { documentTable } from "./documents.ts";
import { eventTable } from "./events.ts";
import { GroupCommit } from "./group-commit.ts";
import { lastUses } from "./last-uses.ts";
import { leaseTable } from "./leases.ts";
import { openStoreFile } from "./schema.ts";
import { sessionTable } from "./sessions.ts";
import { inWords } from "./transaction.ts";

export interface SqliteStoreOptions {
  /** ":memory:" for a store that ends with the process. */
  path: string;
  /** Whether a process that holds a lease is still alive. */
  isAlive?: (holder: Holder) => boolean;
}

export interface SqliteStore extends Store {
  /** For tests that break it. */
  readonly db: Database;
}

export function openSqlite({ path, isAlive = isProcessAlive }: SqliteStoreOptions): SqliteStore {
  const { db, scrubber, transcripts } = openStoreFile(path);
  const uses = lastUses(db);
  const group = new GroupCommit(db, {
    write: batchWriter(db, { transcripts, uses }),
    undone: ({ lease }) => uses.forget(lease.rootId), // What was noted is rolled back with the rest.
  });
  const flush = () => group.flush();
  const inbox = db.prepare("SELECT id, session_id, version, json FROM inbox WHERE session_id = ? ORDER BY n");
  return {
    db,
    commit: (batch) => group.commit(batch),
    ...inWords({
      events: eventTable(db),
      sessions: sessionTable(db, { transcripts, uses, scrub: scrubber.run, flush }),
      documents: documentTable(db),
      leases: leaseTable(db, { isAlive, uses, flush }),
      transcripts: transcripts.transcripts,
      boards: boardTable(db, { scrub: scrubber.run }),
      async inbox(sessionId: string) {
        return inbox.all(sessionId).map(({ id, session_id, version, json }) => ({
          id: String(id),
          sessionId: String(session_id),
          version: Number(version),
          json: String(json),
        }));
      },
    }),
    async close() {
      await flush();
      scrubber.stop();
      db.close();
    },
  };
}
