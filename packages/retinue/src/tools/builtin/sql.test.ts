import { existsSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDatabase } from "../../store/sqlite-door.ts";
import { type SmallWorld, smallWorld } from "../small-world.ts";
import { splitStatements } from "../sql/sql-statements.ts";
import { sqlTool } from "./sql.ts";

const sql = sqlTool();
let world: SmallWorld;
beforeEach(() => {
  world = smallWorld();
});
afterEach(() => world.close());

const run = (query: string) => world.call(sql, { description: "d", query });
const text = async (query: string) => (await run(query)).text;

test("rows come as a Markdown table, and the detail has the query", async () => {
  await run("CREATE TABLE t (a INTEGER, b TEXT)");
  expect(await text("INSERT INTO t VALUES (1, 'x'), (2, 'a|b' || char(10) || 'c')")).toBe(
    "2 row(s) inserted. Last inserted row ID: 2.",
  );
  const outcome = await run("SELECT * FROM t");
  expect(outcome.text).toBe("2 row(s) returned:\n\n| a | b |\n| --- | --- |\n| 1 | x |\n| 2 | a\\|b<br>c |");
  expect(outcome.detail).toBe(`SQL: SELECT * FROM t\n\n${outcome.text}`);
});

test("what a call wrote is there for the next one, and counts are told", async () => {
  await run("INSERT INTO todos (id, title) VALUES ('a', 'Do A'), ('b', 'Do B')");
  expect(await text("UPDATE todos SET status = 'done' WHERE id = 'a'")).toBe("1 row(s) updated.");
  expect(await text("DELETE FROM todos")).toBe("2 row(s) deleted.");
  expect(await text("SELECT * FROM todos")).toBe("0 row(s) returned.");
});

test("two columns of one name are shown as one, and rows of RETURNING as rows", async () => {
  expect(await text("SELECT 1 AS a, 2 AS a, 3 AS b")).toContain("| a | b |\n| --- | --- |\n| 2 | 3 |");
  expect(await text("INSERT INTO todos (id, title) VALUES ('a', 'x') RETURNING id")).toContain(
    "| id |\n| --- |\n| a |",
  );
  expect(await text("WITH x AS (SELECT 1 AS a) SELECT a FROM x WHERE a > 1")).toBe("0 row(s) returned.");
});

test("NULL, blobs, large integers and fractions are shown", async () => {
  expect(await text("SELECT NULL AS n, x'00ff' AS b, 9007199254740993 AS i, 1.5 AS r")).toContain(
    "| NULL | <2 bytes> | 9007199254740993 | 1.5 |",
  );
});

describe("todos", () => {
  test("a write to them is announced, a read and another table are not", async () => {
    await run("SELECT * FROM todos");
    await run("CREATE TABLE t (a)");
    expect(world.announced).toEqual([]);
    await run("INSERT INTO todos (id, title, status) VALUES ('a', 'Do A', 'pending')");
    expect(world.announced).toEqual([{ type: "session.todos_changed", data: {} }]);
  });

  test("a failed write is not announced", async () => {
    await run("INSERT INTO todos (id) VALUES ('a')");
    expect(world.announced).toEqual([]);
  });

  test("an unknown status is refused", async () => {
    expect(await text("INSERT INTO todos (id, title, status) VALUES ('a', 'x', 'someday')")).toContain(
      "SQL Error: CHECK constraint failed",
    );
  });

  test("what can be started next is found by the query that the description gives", async () => {
    await run("INSERT INTO todos (id, title, status) VALUES ('a', 'A', 'pending'), ('b', 'B', 'pending')");
    await run("INSERT INTO todo_deps VALUES ('b', 'a')");
    const [query = ""] = /SELECT \* FROM todos t WHERE[^`]*/.exec(sql.description) ?? [];
    expect(await text(query)).toContain("1 row(s) returned");
    expect(await text(query)).toContain("| a | A |");
  });
});

describe("several statements", () => {
  test("each has its result", async () => {
    expect(await text("CREATE TABLE t (a); INSERT INTO t VALUES (';'); SELECT a FROM t; -- end")).toBe(
      "Done: CREATE.\n\n1 row(s) inserted. Last inserted row ID: 1.\n\n1 row(s) returned:\n\n| a |\n| --- |\n| ; |",
    );
  });

  test("when one fails, none is done", async () => {
    await run("CREATE TABLE t (a)");
    expect((await run("INSERT INTO t VALUES (1); INSERT INTO nope VALUES (1)")).resultType).toBe("failure");
    expect(await text("SELECT count(*) AS n FROM t")).toContain("| 0 |");
  });

  test.each([
    ["SELECT ';'; SELECT \"a;b\"", 2],
    ["-- only; a comment", 0],
    ["/* a; b */ SELECT 1;;", 1],
    ["CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END; SELECT 3", 2],
    ["SELECT 'not closed; SELECT 2", 1],
    ["", 0],
  ])("%j has %i", (query, count) => {
    expect(splitStatements(query)).toHaveLength(count);
  });
});

describe("errors", () => {
  test("are values with SQLite's own words", async () => {
    expect(await run("SELECT * FROM nope")).toEqual({
      resultType: "failure",
      text: "SQL Error: no such table: nope",
      error: "Error: no such table: nope",
    });
    expect(await text("SELEC 1")).toContain("SQL Error: near");
    expect(await text("  ;; ")).toContain("SQL Error: there is no statement");
    expect((await world.call(sql, {})).text).toBe('"query": Required');
  });

  test("no other file can be reached", async () => {
    const other = path.join(world.folder, "other.db");
    openDatabase(other).close();
    for (const query of [
      `ATTACH '${other}' AS o`,
      `/* */ attach database '${other}' as o; SELECT 1`,
      `VACUUM INTO '${other}2'`,
    ]) {
      expect(await text(query)).toContain("is not allowed here");
    }
    expect(existsSync(`${other}2`)).toBe(false);
  });

  test("an endless query is cut after its first thousand rows", async () => {
    const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c";
    expect(await text(endless)).toContain("[only the first 1000 rows are shown]");
  });

  test("a query that was stopped is a failure that says so", async () => {
    const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
    const outcome = run(endless);
    world.abort();
    expect(await outcome).toMatchObject({ resultType: "failure", text: "SQL Error: the query was stopped" });
  });

  test("a session folder that is not there is an error for the model, not a crash", async () => {
    const lost = { ...world.context, sessionFolder: path.join(world.folder, "nope") };
    const { run: call } = await sql.prepare({ query: "SELECT 1" }, lost);
    expect((await call()).resultType).toBe("failure");
  });
});
