/** The loop of a fleet on real tables, with agents that answer at once: how often it writes, and what a crash between two steps leaves. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SessionDatabase } from "../../tools/sql/session-database.ts";
import { splitStatements } from "../../tools/sql/sql-statements.ts";
import type { DatabaseService } from "../../tools/tool.ts";
import { type Crew, FleetRun, type FleetRunOptions } from "./fleet-run.ts";
import type { Run, RunEnd } from "./todo-run.ts";
import { TodoTable } from "./todo-table.ts";

const { signal } = new AbortController();

async function withTable(
  test: (world: {
    table: TodoTable;
    /** The same tables, through a database that refuses so many of its next queries. */
    refusing(error: string, times: number): { table: TodoTable; told: string[] };
    queries(): number;
    sql(text: string): Promise<Record<string, unknown>[]>;
  }) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "retinue-fleet-"));
  const database = new SessionDatabase();
  let queries = 0;
  const counted: DatabaseService = {
    run: (query, options) => {
      queries++;
      return database.run(query, options);
    },
  };
  const refusing = (error: string, times: number) => {
    const told: string[] = [];
    let left = times;
    const refused: DatabaseService = {
      run: async (query, options) => {
        if (left-- > 0) throw new Error(error);
        return await database.run(query, options);
      },
    };
    return { table: new TodoTable(refused, folder, (why) => told.push(why)), told };
  };
  const sql = async (text: string) =>
    (await database.run({ folder, statements: splitStatements(text), maxRows: 100_000 }, { signal })).at(-1)?.rows ??
    [];
  try {
    await test({ table: new TodoTable(counted, folder), refusing, queries: () => queries, sql });
  } finally {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Agents that answer at once, unless `answer` says otherwise; `started` has every start. */
function crew(
  answer: (todoId: string) => RunEnd | Promise<RunEnd> = (id) => ({ way: "completed", text: `did ${id}` }),
  left: Run[] = [],
) {
  const started: string[] = [];
  const agents = new Map(left.map(({ agentId = "", todoId }) => [agentId, todoId]));
  const made: Crew = {
    runs: () => left,
    start: async ({ id }, { attempt }) => {
      started.push(id);
      agents.set(`${id}/${attempt}`, id);
      return { agentId: `${id}/${attempt}` };
    },
    ended: async (agentId) => await answer(agents.get(agentId) ?? ""),
    cancel: async () => undefined,
  };
  return { ...made, started };
}

function fleetRun(table: TodoTable, agents: Crew, more: Partial<FleetRunOptions> = {}): FleetRun {
  return new FleetRun({
    table,
    crew: agents,
    maxConcurrent: 16,
    retries: 1,
    isOutside: () => false,
    isStopping: () => false,
    recorded: async () => undefined,
    onWritten: () => undefined,
    onProgress: () => undefined,
    ...more,
  });
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: `t${index}`,
    title: `Todo ${index}`,
    description: "x".repeat(500),
  }));

test("ten thousand todos are worked off with a few queries for each batch, and read once", async () => {
  await withTable(async ({ table, queries, sql }) => {
    const todos = numbered(10_000);
    const deps = todos.slice(100).map(({ id }, index) => ({ todoId: id, dependsOn: `t${index}` }));
    await table.put({ todos, deps }, { signal });
    const agents = crew();
    const before = queries();
    const progress = await fleetRun(table, agents, { maxConcurrent: 100 }).work(signal);
    expect(progress).toMatchObject({ total: 10_000, done: 10_000 });
    expect(new Set(agents.started).size).toBe(10_000);
    expect(agents.started).toHaveLength(10_000);
    expect(queries() - before).toBeLessThan(3 * (10_000 / 100) + 20);
    expect(await sql("SELECT count(*) AS n FROM todos WHERE status = 'done'")).toEqual([{ n: 10_000n }]);
  });
});

test("ids and texts with quotes, colons, line breaks and marks come back as they were", async () => {
  await withTable(async ({ table }) => {
    const id = 'it\'s: a "todo"\n;--';
    await table.put({ todos: [{ id, title: "t'); DROP TABLE todos; --" }], deps: [] }, { signal });
    const agents = crew(() => ({ way: "completed", text: "it's done; DELETE FROM todos" }));
    expect(await fleetRun(table, agents).work(signal)).toMatchObject({ done: 1 });
    expect(agents.started).toEqual([id]);
    expect(await table.results({ signal })).toMatchObject([{ id, status: "done", title: "t'); DROP TABLE todos; --" }]);
  });
});

test("while there is no room on the disk the fleet waits, says so once, and loses nothing", async () => {
  await withTable(async ({ table, refusing }) => {
    await table.put({ todos: numbered(3), deps: [] }, { signal });
    const full = refusing("database or disk is full", 4);
    const agents = crew();
    expect(await fleetRun(full.table, agents).work(signal)).toMatchObject({ total: 3, done: 3 });
    expect(agents.started).toHaveLength(3);
    expect(full.told).toEqual(["database or disk is full"]);
  });
});

test("a fleet that waits for room on the disk can be stopped", async () => {
  await withTable(async ({ table, refusing }) => {
    await table.put({ todos: numbered(1), deps: [] }, { signal });
    const stop = new AbortController();
    const full = refusing("database or disk is full", Number.POSITIVE_INFINITY);
    const working = fleetRun(full.table, crew()).work(stop.signal);
    await expect.poll(() => full.told.length).toBe(1);
    stop.abort();
    await expect(working).rejects.toThrow();
  });
});

test("a fleet whose tables are gone fails instead of waiting", async () => {
  await withTable(async ({ table, refusing }) => {
    await table.put({ todos: numbered(1), deps: [] }, { signal });
    const gone = refusing("no such table: todos", 2);
    await expect(fleetRun(gone.table, crew()).work(signal)).rejects.toThrow("no such table");
    expect(gone.told).toEqual([]);
  });
});

const run = (todoId: string, attempt: number, end?: RunEnd): Run => ({
  todoId,
  attempt,
  agentId: `${todoId}/${attempt}`,
  end,
});
const answered: RunEnd = { way: "completed", text: "said before" };

test("after a crash a todo whose agent had answered is not run again, though the tables say that it is in progress", async () => {
  await withTable(async ({ table, sql }) => {
    await table.put({ todos: numbered(3), deps: [{ todoId: "t2", dependsOn: "t0" }] }, { signal });
    const lease = { status: "in_progress", outcome: "leased", attempt: 1 } as const;
    await table.write([{ id: "t0", agentId: "t0/1", ...lease }], { named: [], signal });
    const agents = crew(undefined, [run("t0", 1, answered), run("t1", 1)]);
    await fleetRun(table, agents).work(signal);
    expect(agents.started).toEqual(["t2"]);
    expect(await sql("SELECT id, status FROM todos ORDER BY id")).toEqual([
      { id: "t0", status: "done" },
      { id: "t1", status: "done" },
      { id: "t2", status: "done" },
    ]);
  });
});

test("after a crash a lease whose agent never came to be is open again, and a todo that somebody else works on is not", async () => {
  await withTable(async ({ table, sql }) => {
    await table.put({ todos: numbered(3), deps: [{ todoId: "t2", dependsOn: "t1" }] }, { signal });
    await table.write([{ id: "t0", status: "in_progress", outcome: "leased", agentId: "gone", attempt: 1 }], {
      named: [],
      signal,
    });
    await sql("UPDATE todos SET status = 'in_progress' WHERE id = 't1'");
    const agents = crew();
    expect(await fleetRun(table, agents).work(signal)).toMatchObject({ total: 2, done: 1, pending: 1 });
    expect(agents.started).toEqual(["t0"]);
    expect(await sql("SELECT status FROM todos WHERE id = 't1'")).toEqual([{ status: "in_progress" }]);
  });
});

test("a todo that was given up stays so after a restart, and one that failed once has one try left", async () => {
  await withTable(async ({ table }) => {
    await table.put({ todos: numbered(2), deps: [] }, { signal });
    const failed: RunEnd = { way: "failed", error: "no" };
    const agents = crew(() => failed, [run("t0", 2, failed), run("t1", 1, failed)]);
    expect(await fleetRun(table, agents).work(signal)).toMatchObject({ failed: 2 });
    expect(agents.started).toEqual(["t1"]);
    const again = crew(() => failed, [run("t0", 2, failed), run("t1", 2, failed)]);
    await fleetRun(table, again).work(signal);
    expect(again.started).toEqual([]);
  });
});

test("a start that is refused after a failure stays refused after a restart, although no agent tells of it", async () => {
  await withTable(async ({ table }) => {
    await table.put({ todos: numbered(1), deps: [] }, { signal });
    const failed: RunEnd = { way: "failed", error: "no" };
    const refusing = { ...crew(undefined, [run("t0", 1, failed)]), start: async () => ({ refused: "over budget" }) };
    expect(await fleetRun(table, refusing).work(signal)).toMatchObject({ failed: 1 });
    const again = crew(undefined, [run("t0", 1, failed)]);
    expect(await fleetRun(table, again).work(signal)).toMatchObject({ failed: 1 });
    expect(again.started).toEqual([]);
  });
});

test("a graph that grows behind the back of everybody is noticed with the next change", async () => {
  await withTable(async ({ table, sql }) => {
    await table.put({ todos: numbered(2), deps: [{ todoId: "t1", dependsOn: "t0" }] }, { signal });
    const agents = crew(async (id) => {
      if (id === "t0") await sql("INSERT INTO todos (id, title) VALUES ('new', 'n')");
      return answered;
    });
    expect(await fleetRun(table, agents).work(signal)).toMatchObject({ total: 3, done: 3 });
    expect(agents.started.sort()).toEqual(["new", "t0", "t1"]);
  });
});

test("a todo whose row cannot be read is blocked with words, and the others are done", async () => {
  await withTable(async ({ table, sql }) => {
    await sql("INSERT INTO todos (id, title) VALUES (CAST(x'61ff62' AS TEXT), 'No UTF-8'), ('fine', 'Fine')");
    const agents = crew();
    expect(await fleetRun(table, agents).work(signal)).toMatchObject({ total: 2, done: 1, failed: 1 });
    expect(agents.started).toEqual(["fine"]);
  });
});

test("tables that the model has broken end the work with words and not with a loop", async () => {
  await withTable(async ({ table, sql }) => {
    await sql("ALTER TABLE todos RENAME COLUMN title TO headline; INSERT INTO todos (id, headline) VALUES ('a', 'A')");
    await expect(fleetRun(table, crew()).work(signal)).rejects.toThrow(/no such column/);
  });
});
