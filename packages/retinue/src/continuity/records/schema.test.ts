import { expect, test } from "vitest";
import { openDatabase } from "../../store/sqlite-door.ts";
import { migrateContinuity } from "./schema.ts";

test("transcripts of a newer version are refused in words, and those of this one are left as they are", () => {
  const db = openDatabase(":memory:");
  migrateContinuity(db);
  migrateContinuity(db);
  db.exec("UPDATE continuity_meta SET value = 7 WHERE key = 'schema'");
  expect(() => migrateContinuity(db)).toThrow(/written by a newer version of Retinue \(schema 7\)/);
  db.close();
});
