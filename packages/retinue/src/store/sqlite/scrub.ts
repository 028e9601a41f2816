/**
 * Removes from the files what deleted rows leave in them, and gives the room back.
 *
 * Rows are overwritten when they are deleted (`secure_delete`, schema.ts). Three things are left. The full-text index only marks a turn
 * as deleted and keeps its words until its pieces are merged. The write-ahead log has the old pages until it is emptied. And the file
 * has free pages, and copies of rows that SQLite moved from page to page before, until it is written anew.
 */
import { setImmediate } from "node:timers/promises";
import type { Database } from "../sqlite-door.ts";

/** So many pages at a time, so that a large index holds up nobody for long. */
const MERGE_PAGES = 500;

export interface Scrubber {
  /** To be awaited after a deletion. Calls that come while one is at work share the next one. */
  run(): Promise<void>;
  /** The database is about to be closed: what is left is done after the next deletion. */
  stop(): void;
}

export function scrubber(db: Database): Scrubber {
  const stopped = new AbortController();
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return {
    run() {
      const begin = () => {
        next = undefined;
        last = scrub(db, stopped.signal);
        return last;
      };
      next ??= last.then(begin, begin); // Whoever asked for the last one has its error.
      return next;
    },
    stop: () => stopped.abort(),
  };
}

async function scrub(db: Database, signal: AbortSignal): Promise<void> {
  await setImmediate(); // Others may be about to delete as well.
  try {
    if (!signal.aborted) await mergeIndex(db, signal);
    if (signal.aborted) return;
    emptyLog(db);
    if (rewrite(db)) emptyLog(db);
  } catch (error) {
    // The rows are gone all the same. When others write without a pause or there is no room, the next deletion tries again.
    if (!isExpected(error)) throw error;
  }
}

/** Merges all pieces of the index into one, which leaves out what is marked as deleted. */
async function mergeIndex(db: Database, signal: AbortSignal): Promise<void> {
  const merge = db.prepare("INSERT INTO transcript_index (transcript_index, rank) VALUES ('merge', ?)");
  const changes = db.prepare("SELECT total_changes() AS n");
  const changed = () => Number(changes.get()?.n);
  // A negative number begins a merge of everything, positive ones go on with it.
  for (let pages = -MERGE_PAGES; ; pages = MERGE_PAGES) {
    const before = changed();
    merge.run(pages);
    // According to the FTS5 documentation, fewer than two changed rows mean that there was nothing to merge.
    if (changed() - before < 2) return;
    await setImmediate();
    if (signal.aborted) return;
  }
}

/** Writing a file anew takes as long as there is left in it, and others wait meanwhile: less than a second for the first of these. */
const ALWAYS_BELOW = 64 * 1024 * 1024;
const NEVER_ABOVE = 512 * 1024 * 1024;
/** Between the two it must be worth it: one page of so many is free. */
const WORTH_SHARE = 4;

/** True when the file was written anew. Then nothing is left of what moved between pages before it was deleted, either. */
function rewrite(db: Database): boolean {
  const [pages = 0, free = 0, size = 0] = ["page_count", "freelist_count", "page_size"].map((name) => pragma(db, name));
  const live = (pages - free) * size;
  const isDue = live <= ALWAYS_BELOW || (live <= NEVER_ABOVE && free * WORTH_SHARE >= pages);
  if (isDue) withPatience(db, "VACUUM");
  return isDue;
}

const emptyLog = (db: Database) => withPatience(db, "PRAGMA wal_checkpoint(TRUNCATE)");

/** Others who read or write take a moment only, and we hold up everything while we wait for them. */
const PATIENCE_MS = 200;

function withPatience(db: Database, work: string): void {
  const usual = pragma(db, "busy_timeout", "timeout") ?? 0;
  try {
    db.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}; ${work}`);
  } finally {
    db.exec(`PRAGMA busy_timeout = ${usual}`);
  }
}

function pragma(db: Database, name: string, column = name): number | undefined {
  const value = db.prepare(`PRAGMA ${name}`).get()?.[column];
  return typeof value === "number" ? value : undefined;
}

const isExpected = (error: unknown) => error instanceof Error && /database is locked|disk is full/.test(error.message);
