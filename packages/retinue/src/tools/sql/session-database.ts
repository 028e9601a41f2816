/**
 * The session's own database for the `sql` tool: todos and whatever the model puts beside them.
 *
 * Owns the order of queries (one after another, for all agents of a session tree), their limits, and the process that runs them: it
 * starts with the first query and ends when it has been idle for a while. No other file can be reached from a query.
 */

import path from "node:path";
import { longTimer } from "@retinue/protocol";
import type { DatabaseService, SqlQuery, SqlResult } from "../tool.ts";
import { SqlProcess, type SqlRequest } from "./sql-process.ts";
import type { SqlStatement } from "./sql-statements.ts";

const MAX_ROWS = 1000;
const MAX_CHARS = 16_000_000;
const LIMIT_MS = 30_000;
const IDLE_MS = 30_000;

const MAX_BYTES = 512 * 1024 * 1024;

/** Limits for runaway queries: a gigabyte on disk. What would go into temporary files counts as memory. */
const SETUP = `
  PRAGMA busy_timeout = 2000;
  PRAGMA foreign_keys = ON;
  PRAGMA max_page_count = 262144;
  PRAGMA temp_store = MEMORY;
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
  CREATE TABLE IF NOT EXISTS todo_agents (
    todo_id TEXT PRIMARY KEY REFERENCES todos (id) ON DELETE CASCADE,
    agent_type TEXT,
    schema TEXT
  );
  CREATE TABLE IF NOT EXISTS todo_results (
    todo_id TEXT PRIMARY KEY REFERENCES todos (id) ON DELETE CASCADE,
    outcome TEXT NOT NULL,
    agent_id TEXT,
    attempt INTEGER NOT NULL DEFAULT 0,
    text TEXT
  );
  CREATE TRIGGER IF NOT EXISTS todos_touch AFTER UPDATE OF title, description, status ON todos BEGIN
    UPDATE todos SET updated_at = CURRENT_TIMESTAMP WHERE id = new.id;
  END;
`;

export interface SessionDatabaseOptions {
  /** How long a query may run; waiting for others does not count. */
  limitMs?: number;
  /** How long the process is kept for the next query. */
  idleMs?: number;
  /** How much memory the process may take. */
  maxBytes?: number;
}

export class SessionDatabase implements DatabaseService {
  readonly #limitMs: number;
  readonly #idleMs: number;
  readonly #maxBytes: number;
  #process: SqlProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor({ limitMs = LIMIT_MS, idleMs = IDLE_MS, maxBytes = MAX_BYTES }: SessionDatabaseOptions = {}) {
    this.#limitMs = limitMs;
    this.#idleMs = idleMs;
    this.#maxBytes = maxBytes;
  }

  async run(
    { folder, statements, maxRows = MAX_ROWS }: SqlQuery,
    { signal }: { signal: AbortSignal },
  ): Promise<SqlResult[]> {
    const refused = statements.find(reachesOut);
    if (refused) throw new Error(`${refused.verb} is not allowed here`);
    const request: SqlRequest = {
      file: path.join(folder, "session.db"),
      setup: SETUP,
      statements: statements.map(({ text }) => text),
      isAtomic: statements.length > 1 && !statements.some(managesTransactions),
      maxRows,
      maxChars: MAX_CHARS,
      maxBytes: this.#maxBytes,
      tooLarge: tooLarge(this.#maxBytes),
    };
    const turn = this.#last.then(() => this.#runNow(request, signal));
    this.#last = turn.catch(() => undefined); // Whoever asked gets the error; the next query runs all the same.
    return await firstOf(turn, { signal });
  }

  /** The id of the process that runs queries, while there is one. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Ends the process, and with it a query that is running. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  async #runNow(request: SqlRequest, signal: AbortSignal): Promise<SqlResult[]> {
    if (this.#isClosed) throw new QueryStopped("the session is closed");
    if (signal.aborted) throw new QueryStopped(ABORTED);
    clearTimeout(this.#idle);
    if (this.#process?.isEnded !== false) this.#process = new SqlProcess();
    try {
      return await firstOf(this.#process.run(request), { signal, limitMs: this.#limitMs });
    } catch (error) {
      if (error instanceof QueryStopped) await this.#end();
      throw error;
    } finally {
      this.#idle = setTimeout(() => void this.#end(), this.#idleMs).unref();
    }
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    const process = this.#process;
    this.#process = undefined;
    await process?.kill();
  }
}

class QueryStopped extends Error {
  override readonly name = "QueryStopped";
}

const ABORTED = "the query was stopped";
const tooLong = (ms: number) =>
  `the query was stopped after ${ms / 1000} seconds, and what it had not committed is undone. Make it cheaper, or give a recursive part an end.`;

const tooLarge = (bytes: number) =>
  `the query was stopped because it needed more than ${bytes / 1024 / 1024} MB of memory, and what it had not committed is undone. Make its values or its result smaller.`;

/** The result, or `QueryStopped` when the signal or the limit comes first. */
async function firstOf<T>(
  result: Promise<T>,
  { signal, limitMs }: { signal: AbortSignal; limitMs?: number },
): Promise<T> {
  let release = () => {};
  const stopped = new Promise<never>((_, reject) => {
    const abort = () => reject(new QueryStopped(ABORTED));
    const timer =
      limitMs === undefined ? undefined : longTimer(() => reject(new QueryStopped(tooLong(limitMs))), limitMs);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    release = () => {
      timer?.clear();
      signal.removeEventListener("abort", abort);
    };
  });
  try {
    return await Promise.race([result, stopped]);
  } finally {
    release();
  }
}

const TRANSACTIONS = new Set(["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "VACUUM"]);
const managesTransactions = ({ verb }: SqlStatement) => TRANSACTIONS.has(verb);

/** The tool asks for no permission, so it must not reach other files, or lift its limits. */
const reachesOut = ({ verb, text }: SqlStatement) =>
  verb === "ATTACH" ||
  verb === "DETACH" ||
  (verb === "VACUUM" && /\binto\b/i.test(text)) ||
  (verb === "PRAGMA" && /\b(?:max_page_count|temp_store\w*)\b/i.test(text));
