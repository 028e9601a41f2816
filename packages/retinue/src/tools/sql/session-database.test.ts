import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SessionDatabase } from "./session-database.ts";
import { splitStatements } from "./sql-statements.ts";

const NUMBERS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)";
const ENDLESS = `${NUMBERS} SELECT count(*) FROM c`;
const ENDLESS_WRITE = `${NUMBERS} INSERT INTO t SELECT x FROM c`;

let folder: string;
let databases: SessionDatabase[];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "session-database-"));
  databases = [];
});
afterEach(async () => {
  await Promise.all(databases.map((each) => each.close()));
  rmSync(folder, { recursive: true, force: true });
});

function database(options: ConstructorParameters<typeof SessionDatabase>[0] = {}) {
  const made = new SessionDatabase(options);
  databases.push(made);
  const run = async (query: string, signal = new AbortController().signal) => {
    const results = await made.run({ folder, statements: splitStatements(query) }, { signal });
    return results.at(-1)?.rows;
  };
  return { run, made };
}

/** Once it has written something it is running, and can only be ended from outside. */
const hasBegun = () => expect.poll(() => existsSync(path.join(folder, "session.db-journal"))).toBe(true);

function isRunning(pid: number | undefined): boolean {
  const state = execFileSync("sh", ["-c", `ps -o stat= -p ${pid} || true`], { encoding: "utf8" }).trim();
  return state !== "" && !state.startsWith("Z");
}

test("an endless query is stopped by its limit, and the next one runs", async () => {
  const { run, made } = database({ limitMs: 2000 });
  await expect(run(ENDLESS)).rejects.toThrow("the query was stopped after 2 seconds");
  expect(made.pid).toBeUndefined();
  expect(await run("SELECT 1 AS a")).toEqual([{ a: 1n }]);
});

test("a write that was stopped leaves nothing in the database, and no file beside it after the next write", async () => {
  const { run } = database();
  await run("CREATE TABLE t (a); INSERT INTO t VALUES (0)");
  const abort = new AbortController();
  const writing = run(ENDLESS_WRITE, abort.signal);
  await hasBegun();
  abort.abort();
  await expect(writing).rejects.toThrow("the query was stopped");
  expect(await run("SELECT count(*) AS n FROM t")).toEqual([{ n: 1n }]);
  expect(await run("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  await run("INSERT INTO t VALUES (1)");
  expect(readdirSync(folder)).toEqual(["session.db"]);
});

test("queries of one session run one after another, in the order in which they came", async () => {
  const { run } = database();
  const [, , rows] = await Promise.all([
    run("CREATE TABLE t (a)"),
    run("INSERT INTO t VALUES (1)"),
    run("SELECT a FROM t"),
  ]);
  expect(rows).toEqual([{ a: 1n }]);
});

test("a query that waits behind an endless one can be taken back, and runs when that is stopped", async () => {
  const { run } = database();
  await run("CREATE TABLE t (a)");
  const [first, second] = [new AbortController(), new AbortController()];
  const endless = run(ENDLESS_WRITE, first.signal);
  const impatient = run("INSERT INTO t VALUES (1)", second.signal);
  const patient = run("SELECT count(*) AS n FROM t");
  await hasBegun();
  second.abort();
  await expect(impatient).rejects.toThrow("the query was stopped");
  first.abort();
  await expect(endless).rejects.toThrow("the query was stopped");
  expect(await patient).toEqual([{ n: 0n }]);
});

test("other sessions go on while a query runs", async () => {
  const { run } = database();
  await run("CREATE TABLE t (a)");
  const abort = new AbortController();
  const endless = run(ENDLESS_WRITE, abort.signal);
  await hasBegun();
  const elsewhere = mkdtempSync(path.join(folder, "other-"));
  const { made: other } = database();
  const { signal } = abort;
  const [result] = await other.run({ folder: elsewhere, statements: splitStatements("SELECT 2 AS a") }, { signal });
  expect(result?.rows).toEqual([{ a: 2n }]);
  abort.abort();
  await expect(endless).rejects.toThrow("the query was stopped");
});

test("a call that was aborted before it came starts nothing", async () => {
  const { run, made } = database();
  await expect(run("SELECT 1", AbortSignal.abort())).rejects.toThrow("the query was stopped");
  expect(made.pid).toBeUndefined();
});

test("the process serves one query after another, and ends when it is idle", async () => {
  const { run, made } = database({ idleMs: 50 });
  await Promise.all([run("SELECT 1"), run("SELECT 1")]);
  const { pid } = made;
  expect(pid).toBeDefined();
  await expect.poll(() => isRunning(pid)).toBe(false);
  expect(made.pid).toBeUndefined();
  expect(await run("SELECT 1 AS a")).toEqual([{ a: 1n }]);
});

test("a process that somebody killed is a failed query, and the next one has a new process", async () => {
  const { run, made } = database();
  await run("SELECT 1");
  const pid = made.pid ?? 0;
  process.kill(pid, "SIGKILL");
  while (!hasDied(pid)); // Without letting this process notice it.
  const outcomes = await Promise.allSettled([run("SELECT 1"), run("SELECT 1")]);
  expect(outcomes.at(-1)?.status).toBe("fulfilled");
});

function hasDied(pid: number): boolean {
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || readFileSync(stat, "utf8").includes(") Z ");
}

test("closing ends a query that runs, and refuses the next", async () => {
  const { run, made } = database();
  await run("CREATE TABLE t (a)");
  const { pid } = made;
  const endless = run(ENDLESS_WRITE);
  await hasBegun();
  await Promise.all([made.close(), expect(endless).rejects.toThrow("has ended")]);
  expect(isRunning(pid)).toBe(false);
  await expect(run("SELECT 1")).rejects.toThrow("the session is closed");
});

/** Each would take gigabytes, in values, in sorting, in rows or on the way to the answer. */
const WIDE = "hex(zeroblob(500000))";
const BOMBS = {
  "text that is joined": `${NUMBERS} SELECT group_concat(${WIDE}) FROM c`,
  "text that is replaced": "SELECT length(replace(hex(zeroblob(2000000)), '0', hex(zeroblob(120))))",
  "a table in memory": `CREATE TEMP TABLE b AS ${NUMBERS} SELECT ${WIDE} AS a FROM c`,
  "sorting of rows": `${NUMBERS} SELECT ${WIDE} AS a FROM c ORDER BY a`,
  "a set without duplicates": `WITH RECURSIVE c(x, y) AS (SELECT 1, ${WIDE} UNION SELECT x + 1, ${WIDE} FROM c) SELECT count(*) FROM c`,
};

test.each(Object.entries(BOMBS))(
  "%s that takes too much memory is stopped with words for the model",
  async (_, bomb) => {
    const { run, made } = database({ maxBytes: 256 * 1024 * 1024 });
    await run("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    const { pid } = made;
    await expect(run(bomb)).rejects.toThrow("it needed more than 256 MB of memory");
    expect(isRunning(pid)).toBe(false);
    expect(await run("SELECT a FROM t")).toEqual([{ a: 1n }]);
  },
);

test("half a gigabyte is the limit when nothing else is said, and it cannot be lifted", async () => {
  const { run } = database();
  await expect(run("SELECT length(randomblob(1000000000))")).rejects.toThrow("it needed more than 512 MB of memory");
  for (const name of ["temp_store = FILE", "max_page_count = 4294967294", "main.max_page_count(4294967294)"])
    await expect(run(`PRAGMA ${name}`)).rejects.toThrow("PRAGMA is not allowed here");
});

test("a value that fits is not taken for a bomb", async () => {
  const { run } = database();
  expect(await run("SELECT length(hex(zeroblob(20000000))) AS n")).toEqual([{ n: 40_000_000n }]);
});

test("rows are cut where they are too many to carry", async () => {
  const { run } = database();
  const wide = "SELECT hex(zeroblob(5000000)) AS a";
  const rows = (await run(`${wide} UNION ALL ${wide} UNION ALL ${wide}`)) ?? [];
  expect(rows.map(({ a }) => String(a).length)).toEqual([10_000_000, 6_000_001]);
});

test("when the runtime is killed in the middle of an endless query, the process that runs it ends", async () => {
  const module = pathToFileURL(path.join(import.meta.dirname, "session-database.ts")).href;
  const program = `
    const { SessionDatabase } = await import(${JSON.stringify(module)});
    const database = new SessionDatabase();
    const run = (text) => database.run({ folder: ${JSON.stringify(folder)}, statements: [{ verb: "", text }] }, { signal: new AbortController().signal });
    await run("CREATE TABLE t (a)");
    console.log(database.pid);
    await run(${JSON.stringify(ENDLESS_WRITE)});
  `;
  const runtime = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(runtime.stdout, "data");
  const pid = Number(line);
  await hasBegun();
  expect(isRunning(pid)).toBe(true);
  runtime.kill("SIGKILL");
  await expect.poll(() => isRunning(pid)).toBe(false);
});
