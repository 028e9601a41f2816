/**
 * The store on SQLite (WAL): one file under the home folder, shared by every process that uses that home.
 *
 * Owns the tables and the statements. Hot paths are prepared once; an append of one tick is one transaction.
 */
import { readFileSync } from "node:fs";
import { AppError, messageOf } from "@retinue/protocol";
import { openTranscripts, type SqliteTranscripts } from "./sqlite/transcripts/transcripts.ts";
import { type Database, openDatabase, type Statement } from "./sqlite-door.ts";
import type { EventQuery, InboxItem, SessionRecord, Store, StoredEvent } from "./store.ts";

const SCHEMA_VERSION = 1;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, root_id TEXT NOT NULL, parent_id TEXT, cwd TEXT NOT NULL, git_root TEXT, repository TEXT,
    branch TEXT, client_name TEXT, name TEXT, user_named INTEGER NOT NULL DEFAULT 0, summary TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
  );
  CREATE INDEX IF NOT EXISTS sessions_by_use ON sessions (updated_at) WHERE parent_id IS NULL;
  CREATE INDEX IF NOT EXISTS sessions_by_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX IF NOT EXISTS sessions_by_root ON sessions (root_id);
  CREATE TABLE IF NOT EXISTS events (
    pos INTEGER PRIMARY KEY AUTOINCREMENT, root_id TEXT NOT NULL, session_id TEXT NOT NULL,
    type TEXT NOT NULL, id TEXT NOT NULL, json TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS events_by_root ON events (root_id, pos);
  CREATE TABLE IF NOT EXISTS inbox (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, json TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS inbox_by_session ON inbox (session_id, n);
  CREATE TABLE IF NOT EXISTS documents (
    kind TEXT NOT NULL, key TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (kind, key)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS writers (root_id TEXT PRIMARY KEY, pid INTEGER NOT NULL, started_at INTEGER NOT NULL) WITHOUT ROWID;
`;

export interface SqliteStoreOptions {
  /** ":memory:" for a store that ends with the process. */
  path: string;
  /** Whether a process that holds a session still lives. */
  isAlive?: (holder: { pid: number; startedAt: number }) => boolean;
}

export interface SqliteStore extends Store {
  readonly db: Database;
}

export function openSqlite({ path, isAlive = isProcessAlive }: SqliteStoreOptions): SqliteStore {
  const { db, transcripts } = prepareDatabase(path);
  const statement = statements(db);
  const transaction = <T>(work: () => T): T => inTransaction(db, work);

  return {
    db,
    transcripts: transcripts.transcripts,

    commit(batch) {
      transaction(() => {
        const rootId = batch.rootId ?? "";
        for (const event of batch.events ?? []) {
          statement.append.run(rootId, event.sessionId, event.type, event.id, event.json);
        }
        for (const change of batch.inbox ?? []) {
          if ("add" in change) statement.inboxAdd.run(change.add.id, change.add.sessionId, change.add.json);
          else statement.inboxRemove.run(change.remove);
        }
        for (const { kind, key, json } of batch.documents ?? []) statement.put.run(kind, key, json);
        if (batch.touch) statement.touch.run(batch.touch.at, batch.touch.sessionId);
        if (batch.transcript) transcripts.apply(batch.transcript);
      });
    },

    events(rootId, query = {}) {
      return readEvents(db, rootId, query);
    },

    countEvents(rootId) {
      return Number(row(statement.count.get(rootId)).n);
    },

    sizeOf(rootId) {
      return Number(row(statement.size.get(rootId)).bytes ?? 0);
    },

    truncate(rootId, eventId) {
      return transaction(() => {
        const found = statement.posOf.get(rootId, eventId);
        if (!found) return 0;
        return Number(statement.cut.run(rootId, Number(row(found).pos)).changes);
      });
    },

    createSession(session) {
      guarded(() =>
        statement.createSession.run(
          session.id,
          session.rootId,
          session.parentId ?? null,
          session.cwd,
          session.gitRoot ?? null,
          session.repository ?? null,
          session.branch ?? null,
          session.clientName ?? null,
          session.name ?? null,
          session.userNamed ? 1 : 0,
          session.summary ?? null,
          session.createdAt,
          session.updatedAt,
        ),
      );
    },

    updateSession(id, change) {
      const columns = Object.entries(change).filter(([, value]) => value !== undefined);
      if (columns.length === 0) return;
      const assignments = columns.map(([name]) => `${SESSION_COLUMNS[name as keyof typeof SESSION_COLUMNS]} = ?`);
      const values = columns.map(([, value]) => (typeof value === "boolean" ? Number(value) : value));
      guarded(() => db.prepare(`UPDATE sessions SET ${assignments.join(", ")} WHERE id = ?`).run(...values, id));
    },

    session(id) {
      const found = statement.session.get(id);
      return found ? toSession(row(found)) : undefined;
    },

    sessions(filter = {}) {
      const given = Object.entries(filter).filter(([, value]) => value !== undefined);
      const where = given.map(([name]) => ` AND ${SESSION_COLUMNS[name as keyof typeof SESSION_COLUMNS]} = ?`).join("");
      const found = db
        .prepare(`SELECT * FROM sessions WHERE parent_id IS NULL${where} ORDER BY updated_at DESC, rowid DESC`)
        .all(...given.map(([, value]) => value));
      return found.map((each) => toSession(row(each)));
    },

    children(parentId) {
      return statement.children.all(parentId).map((each) => toSession(row(each)));
    },

    deleteSession(id) {
      return transaction(() => {
        const tree = [id, ...statement.tree.all(id, id).map((each) => String(row(each).id))];
        statement.deleteEvents.run(id);
        for (const each of tree) {
          statement.deleteInbox.run(each);
          transcripts.forget(each);
          statement.deleteTasks.run(`${each}/`, `${each}0`);
        }
        statement.release.run(id);
        return Number(statement.deleteSessions.run(id, id).changes) > 0;
      });
    },

    inbox(sessionId) {
      return statement.inbox.all(sessionId).map((each) => toInboxItem(row(each)));
    },

    put(kind, key, json) {
      guarded(() => statement.put.run(kind, key, json));
    },
    get(kind, key) {
      const found = statement.get.get(kind, key);
      return found ? String(row(found).json) : undefined;
    },
    list(kind, keyPrefix) {
      return statement.list
        .all(kind, keyPrefix, `${keyPrefix}\u{10ffff}`)
        .map((each) => ({ key: String(row(each).key), json: String(row(each).json) }));
    },
    remove(kind, key) {
      guarded(() => statement.remove.run(kind, key));
    },

    acquire(rootId, holder) {
      return transaction(() => {
        const found = statement.holder.get(rootId);
        if (found) {
          const other = { pid: Number(row(found).pid), startedAt: Number(row(found).started_at) };
          const isSame = other.pid === holder.pid && other.startedAt === holder.startedAt;
          if (!isSame && isAlive(other)) return false;
        }
        statement.acquire.run(rootId, holder.pid, holder.startedAt);
        return true;
      });
    },
    holder(rootId) {
      const found = statement.holder.get(rootId);
      if (!found) return undefined;
      const other = { pid: Number(row(found).pid), startedAt: Number(row(found).started_at) };
      return isAlive(other) ? other : undefined;
    },
    release(rootId) {
      guarded(() => statement.release.run(rootId));
    },

    close() {
      db.close();
    },
  };
}

const SESSION_COLUMNS = {
  rootId: "root_id",
  parentId: "parent_id",
  cwd: "cwd",
  gitRoot: "git_root",
  repository: "repository",
  branch: "branch",
  clientName: "client_name",
  name: "name",
  userNamed: "user_named",
  summary: "summary",
  createdAt: "created_at",
  updatedAt: "updated_at",
} as const satisfies Record<Exclude<keyof SessionRecord, "id">, string>;

function prepareDatabase(path: string): { db: Database; transcripts: SqliteTranscripts } {
  try {
    const db = openDatabase(path);
    // Small pages, for a new file: an append touches three or four of them, and each is written whole.
    db.exec(
      "PRAGMA busy_timeout = 5000; PRAGMA page_size = 2048; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;",
    );
    const version = Number(row(db.prepare("PRAGMA user_version").get()).user_version);
    if (version > SCHEMA_VERSION) {
      throw new AppError("store_unavailable", `${path} was written by a newer version of Retinue (schema ${version})`);
    }
    if (version < SCHEMA_VERSION) {
      inTransaction(db, () => {
        db.exec(SCHEMA);
        db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
      });
    }
    return { db, transcripts: openTranscripts(db, path) };
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("store_unavailable", `Cannot open the store ${path}: ${messageOf(error)}`, { cause: error });
  }
}

function statements(db: Database) {
  return {
    append: db.prepare("INSERT INTO events (root_id, session_id, type, id, json) VALUES (?, ?, ?, ?, ?)"),
    touch: db.prepare("UPDATE sessions SET updated_at = ? WHERE id = ?"),
    inboxAdd: db.prepare("INSERT INTO inbox (id, session_id, json) VALUES (?, ?, ?)"),
    inboxRemove: db.prepare("DELETE FROM inbox WHERE id = ?"),
    count: db.prepare("SELECT count(*) AS n FROM events WHERE root_id = ?"),
    size: db.prepare("SELECT sum(length(CAST(json AS BLOB))) AS bytes FROM events WHERE root_id = ?"),
    posOf: db.prepare("SELECT pos FROM events WHERE root_id = ? AND id = ?"),
    cut: db.prepare("DELETE FROM events WHERE root_id = ? AND pos >= ?"),
    createSession: db.prepare("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    session: db.prepare("SELECT * FROM sessions WHERE id = ?"),
    children: db.prepare("SELECT * FROM sessions WHERE parent_id = ? ORDER BY created_at, rowid"),
    tree: db.prepare("SELECT id FROM sessions WHERE root_id = ? AND id <> ?"),
    deleteEvents: db.prepare("DELETE FROM events WHERE root_id = ?"),
    deleteInbox: db.prepare("DELETE FROM inbox WHERE session_id = ?"),
    deleteTasks: db.prepare("DELETE FROM documents WHERE kind = 'task' AND key >= ? AND key < ?"),
    deleteSessions: db.prepare("DELETE FROM sessions WHERE id = ? OR root_id = ?"),
    inbox: db.prepare("SELECT id, session_id, json FROM inbox WHERE session_id = ? ORDER BY n"),
    put: db.prepare("INSERT INTO documents VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET json = excluded.json"),
    get: db.prepare("SELECT json FROM documents WHERE kind = ? AND key = ?"),
    list: db.prepare("SELECT key, json FROM documents WHERE kind = ? AND key >= ? AND key < ? ORDER BY key"),
    remove: db.prepare("DELETE FROM documents WHERE kind = ? AND key = ?"),
    holder: db.prepare("SELECT pid, started_at FROM writers WHERE root_id = ?"),
    acquire: db.prepare(
      "INSERT INTO writers VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET pid = excluded.pid, started_at = excluded.started_at",
    ),
    release: db.prepare("DELETE FROM writers WHERE root_id = ?"),
  } satisfies Record<string, Statement>;
}

function readEvents(db: Database, rootId: string, query: EventQuery): StoredEvent[] {
  const { after = -1, before = Number.MAX_SAFE_INTEGER, limit = -1, sessionId, backward = false } = query;
  const bySession = sessionId === undefined ? "" : " AND session_id = ?";
  const found = db
    .prepare(
      `SELECT pos, session_id, type, json FROM events WHERE root_id = ? AND pos > ? AND pos < ?${bySession}
       ORDER BY pos ${backward ? "DESC" : "ASC"} LIMIT ?`,
    )
    .all(rootId, after, before, ...(sessionId === undefined ? [] : [sessionId]), limit);
  return found.map((each) => {
    const { pos, session_id, type, json } = row(each);
    return { pos: Number(pos), sessionId: String(session_id), type: String(type), json: String(json) };
  });
}

/** IMMEDIATE, so that two processes queue for the lock instead of failing half-way. */
function inTransaction<T>(db: Database, work: () => T): T {
  return guarded(() => {
    db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      db.exec("COMMIT");
      return result;
    } catch (error) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  });
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("store_unavailable", `The store could not be written: ${messageOf(error)}`, { cause: error });
  }
}

/** This process as the writer of sessions; the start tick tells it from a later process with the same pid. */
export function thisProcess(): { pid: number; startedAt: number } {
  return { pid: process.pid, startedAt: startTick(process.pid) };
}

export function isProcessAlive({ pid, startedAt }: { pid: number; startedAt: number }): boolean {
  try {
    process.kill(pid, 0); // Signal 0 asks only whether the process is there.
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return startTick(pid) === startedAt;
}

/** When the kernel started the process, in ticks since boot; 0 where there is no /proc. */
export function startTick(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  } catch {
    return 0; // No /proc on this system, or the process has just ended: the pid alone decides.
  }
}

type Row = Record<string, unknown>;
function row(value: unknown): Row {
  return value as Row;
}

function toSession(found: Row): SessionRecord {
  const text = (value: unknown) => (value === null || value === undefined ? undefined : String(value));
  return {
    id: String(found.id),
    rootId: String(found.root_id),
    parentId: text(found.parent_id),
    cwd: String(found.cwd),
    gitRoot: text(found.git_root),
    repository: text(found.repository),
    branch: text(found.branch),
    clientName: text(found.client_name),
    name: text(found.name),
    userNamed: found.user_named === 1,
    summary: text(found.summary),
    createdAt: Number(found.created_at),
    updatedAt: Number(found.updated_at),
  };
}

function toInboxItem(found: Row): InboxItem {
  return { id: String(found.id), sessionId: String(found.session_id), json: String(found.json) };
}
