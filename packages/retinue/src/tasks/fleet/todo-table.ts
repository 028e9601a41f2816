/**
 * The todos of a session as a fleet reads and writes them: tables of the session's own database, which the model changes too.
 *
 * Owns the SQL. What a run of a todo came to is in the records of the tasks; the tables show it to people and to the model. Outcome and
 * status are one transaction, so whoever reads the tables knows which run they tell of.
 */
import { setTimeout as pause } from "node:timers/promises";
import { messageOf } from "@retinue/protocol";
import * as z from "zod";
import { pauseAfter } from "../../session/outage.ts";
import type { SqlStatement } from "../../tools/sql/sql-statements.ts";
import type { DatabaseService } from "../../tools/tool.ts";
import type { TreeParts } from "../../tree/parts.ts";

/** What the fleet wrote last about a todo. */
export type Outcome = "leased" | "done" | "again" | "failed" | "waits";

export interface TodoRow {
  readonly id: string;
  readonly status: "pending" | "in_progress" | "done" | "blocked";
  readonly outcome?: Outcome;
  /** Of the run that the outcome is about. */
  readonly agentId?: string;
  readonly attempt: number;
}

export interface TodoGraph {
  readonly rows: readonly TodoRow[];
  readonly deps: readonly { todoId: string; dependsOn: string }[];
  /** How many rows the tables have. */
  readonly counts: string;
}

/** What the agent of a todo is told. */
export interface Brief {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly agentType?: string;
  readonly schema?: string;
}

export interface Change {
  id: string;
  status: TodoRow["status"];
  outcome: Outcome;
  agentId?: string;
  attempt: number;
  text?: string;
}

export interface GivenTodo {
  id: string;
  title: string;
  description?: string;
  agent?: string;
  schema?: object;
}

export interface Result {
  id: string;
  title: string;
  status: TodoRow["status"];
  outcome?: Outcome;
  agentId?: string;
  attempt: number;
  text?: string;
}

const MAX_TODOS = 100_000;
const MAX_KEPT = 20_000;

const optional = () =>
  z
    .string()
    .nullish()
    .transform((value) => value ?? undefined);
const number = () => z.union([z.bigint(), z.number()]).nullish().transform(Number);
const Row = z
  .object({
    id: z.string(),
    status: z.enum(["pending", "in_progress", "done", "blocked"]),
    outcome: z.enum(["leased", "done", "again", "failed", "waits"]).nullish().catch(null),
    agent_id: optional(),
    attempt: number(),
  })
  .transform(({ agent_id: agentId, outcome, ...row }): TodoRow => ({ ...row, outcome: outcome ?? undefined, agentId }));
const Dep = z
  .object({ todo_id: z.string(), depends_on: z.string() })
  .transform(({ todo_id: todoId, depends_on: dependsOn }) => ({ todoId, dependsOn }));
const BriefRow = z
  .object({
    id: z.string(),
    title: z.string(),
    description: optional(),
    agent_type: optional(),
    schema: optional(),
  })
  .transform(({ agent_type: agentType, description = "", ...row }): Brief => ({ ...row, description, agentType }));
const ResultRow = z
  .object({
    id: z.string(),
    title: z.string(),
    status: z.enum(["pending", "in_progress", "done", "blocked"]),
    outcome: z.enum(["leased", "done", "again", "failed", "waits"]).nullish().catch(null),
    agent_id: optional(),
    attempt: number(),
    text: optional(),
  })
  .transform(({ agent_id: agentId, outcome, ...row }): Result => ({ ...row, outcome: outcome ?? undefined, agentId }));
const CountRow = z.object({ todos: number(), deps: number() });

const GRAPH = [
  select(
    "SELECT t.id, t.status, r.outcome, r.agent_id, r.attempt FROM todos t LEFT JOIN todo_results r ON r.todo_id = t.id ORDER BY t.created_at, t.rowid",
  ),
  select("SELECT todo_id, depends_on FROM todo_deps"),
];
/** Cheap enough to ask with every change: a graph that somebody changed without a word mostly differs in one of these. */
const COUNTS = select("SELECT (SELECT count(*) FROM todos) AS todos, (SELECT count(*) FROM todo_deps) AS deps");

/** Told once for each time that the tables cannot be reached, and the table waits until they can; without it their error is thrown. */
export type OnOutage = (why: string) => void;

export class TodoTable {
  readonly #database: DatabaseService;
  readonly #folder: string;
  readonly #onOutage: OnOutage | undefined;

  constructor(database: DatabaseService, folder: string, onOutage?: OnOutage) {
    this.#database = database;
    this.#folder = folder;
    this.#onOutage = onOutage;
  }

  /** Writes the changes, and reads what comes of it in the same transaction. */
  async read(changes: readonly Change[], { signal }: { signal: AbortSignal }): Promise<TodoGraph> {
    const results = await this.#run([...writing(changes), ...GRAPH, COUNTS], signal);
    const [rows, deps, counts] = results.slice(-3);
    return { rows: readable(rows, Row), deps: readable(deps, Dep), counts: countsIn(counts) };
  }

  /** Writes the changes. Returns what those that are named say, and the counts by which a foreign change is noticed. */
  async write(
    changes: readonly Change[],
    { named, signal }: { named: readonly string[]; signal: AbortSignal },
  ): Promise<{ briefs: ReadonlyMap<string, Brief>; counts: string }> {
    const briefs = select(
      `SELECT t.id, t.title, t.description, a.agent_type, a.schema FROM todos t LEFT JOIN todo_agents a ON a.todo_id = t.id WHERE t.id IN (SELECT value FROM json_each(${quoted(named)}))`,
    );
    const results = await this.#run([...writing(changes), briefs, COUNTS], signal);
    const [rows, counts] = results.slice(-2);
    return {
      briefs: new Map(readable(rows, BriefRow).map((brief) => [brief.id, brief])),
      counts: countsIn(counts),
    };
  }

  async results({ signal }: { signal: AbortSignal }): Promise<Result[]> {
    const all = select(
      "SELECT t.id, t.title, t.status, r.outcome, r.agent_id, r.attempt, r.text FROM todos t LEFT JOIN todo_results r ON r.todo_id = t.id ORDER BY t.created_at, t.rowid",
    );
    return readable((await this.#run([all], signal))[0], ResultRow);
  }

  /** Puts in a graph that a program gave. Todos that have one of its ids begin anew. */
  async put(
    { todos, deps }: { todos: readonly GivenTodo[]; deps: readonly { todoId: string; dependsOn: string }[] },
    { signal }: { signal: AbortSignal },
  ): Promise<void> {
    const ids = `(SELECT value FROM json_each(${quoted(todos.map(({ id }) => id))}))`;
    const rows = todos.map(({ id, title, description = "", agent = null, schema }) => [
      id,
      title,
      description,
      agent,
      schema ? JSON.stringify(schema) : null,
    ]);
    const given = `json_each(${quoted(rows)})`;
    await this.#run(
      [
        change(
          `INSERT INTO todos (id, title, description, status) SELECT value ->> 0, value ->> 1, value ->> 2, 'pending' FROM ${given} WHERE true ON CONFLICT (id) DO UPDATE SET title = excluded.title, description = excluded.description, status = 'pending'`,
        ),
        change(`DELETE FROM todo_deps WHERE todo_id IN ${ids}`),
        change(`DELETE FROM todo_results WHERE todo_id IN ${ids}`),
        change(`DELETE FROM todo_agents WHERE todo_id IN ${ids}`),
        change(
          `INSERT INTO todo_agents (todo_id, agent_type, schema) SELECT value ->> 0, value ->> 3, value ->> 4 FROM ${given} WHERE value ->> 3 IS NOT NULL OR value ->> 4 IS NOT NULL`,
        ),
        change(
          `INSERT OR IGNORE INTO todo_deps (todo_id, depends_on) SELECT value ->> 0, value ->> 1 FROM json_each(${quoted(deps.map(({ todoId, dependsOn }) => [todoId, dependsOn]))})`,
        ),
      ],
      signal,
    );
  }

  /**
   * The process that runs queries is shared with the model's, and ends with a query of its that takes too much: then a second try is enough. While there
   * is no room on the disk, whoever can wait tries until there is, as the log does.
   */
  async #run(statements: readonly SqlStatement[], signal: AbortSignal) {
    const query = { folder: this.#folder, statements, maxRows: MAX_TODOS };
    for (let failures = 1; ; failures++) {
      try {
        return await this.#database.run(query, { signal });
      } catch (error) {
        if (signal.aborted) throw error;
        if (failures === 1) continue;
        if (!this.#onOutage || !isOutage(error)) throw error;
        if (failures === 2) this.#onOutage(messageOf(error));
        await pause(pauseAfter(failures), undefined, { signal });
      }
    }
  }
}

/** In the words of SQLite: all that comes from the process of the queries is text. */
const isOutage = (error: unknown): boolean =>
  /disk is full|disk I\/O error|database is locked|unable to open database|readonly database/.test(messageOf(error));

/** The todos of a session tree. */
export const todosOf = ({ root, services }: Pick<TreeParts, "root" | "services">, onOutage?: OnOutage): TodoTable =>
  new TodoTable(services.database, root.place.folder, onOutage);

/** One statement for each table, however many changes there are. */
function writing(changes: readonly Change[]): SqlStatement[] {
  if (changes.length === 0) return [];
  const last = [...new Map(changes.map((each) => [each.id, each])).values()];
  const rows = last.map(({ id, status, outcome, agentId = null, attempt, text = null }) => [
    id,
    status,
    outcome,
    agentId,
    attempt,
    text === null ? null : text.slice(0, MAX_KEPT),
  ]);
  const given = `json_each(${quoted(rows)})`;
  return [
    change(
      `UPDATE todos SET status = c.value ->> 1 FROM ${given} AS c WHERE todos.id = c.value ->> 0 AND todos.status <> c.value ->> 1`,
    ),
    change(
      `INSERT INTO todo_results (todo_id, outcome, agent_id, attempt, text) SELECT value ->> 0, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM ${given} WHERE value ->> 0 IN (SELECT id FROM todos) ON CONFLICT (todo_id) DO UPDATE SET outcome = excluded.outcome, agent_id = excluded.agent_id, attempt = excluded.attempt, text = excluded.text`,
    ),
  ];
}

/** Rows that are no todos any more, because the model has changed the tables, are left out. */
function readable<T>(result: { rows: readonly unknown[] } | undefined, schema: z.ZodType<T>): T[] {
  return (result?.rows ?? []).flatMap((row) => {
    const parsed = schema.safeParse(row);
    return parsed.success ? [parsed.data] : [];
  });
}

const countsIn = (result: { rows: readonly unknown[] } | undefined): string =>
  JSON.stringify(readable(result, CountRow));

/** A value as JSON in a literal of SQL; JSON has no character that could end it but the quote. */
const quoted = (value: unknown): string => `'${JSON.stringify(value).replaceAll("'", "''")}'`;

function select(text: string): SqlStatement {
  return { verb: "SELECT", text };
}
const change = (text: string): SqlStatement => ({ verb: text.startsWith("UPDATE") ? "UPDATE" : "INSERT", text });
