import { expect, test } from "vitest";
import { openDatabase } from "./sqlite-door.ts";

test("a row that was written is read back", () => {
  const db = openDatabase(":memory:");
  db.exec("CREATE TABLE t (a TEXT)");
  db.prepare("INSERT INTO t VALUES (?)").run("x");
  expect(db.prepare("SELECT a FROM t").all()).toMatchObject([{ a: "x" }]);
  db.close();
});
