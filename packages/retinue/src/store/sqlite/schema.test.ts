/** `schema-1.db` is a store of schema 1, recorded while a session waited for a permission. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase } from "../sqlite-door.ts";
import { openSqlite } from "./store.ts";

const EARLIER = fileURLToPath(new URL("schema-1.db", import.meta.url));

let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "retinue-schema-"));
  path = join(folder, "retinue.db");
  cpSync(EARLIER, path);
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a store of schema 1 keeps all its data, and its lease is that of its writer", async () => {
  const before = openDatabase(path);
  const rows = (db: typeof before, table: string) => db.prepare(`SELECT * FROM ${table}`).all();
  const [sessions, events] = [rows(before, "sessions"), rows(before, "events")];
  before.close();
  const store = openSqlite({ path, isAlive: () => true });
  expect([rows(store.db, "sessions"), rows(store.db, "events")]).toEqual([sessions, events]);
  expect(await store.leases.holder("from-before")).toMatchObject({ pid: expect.any(Number) });
  expect((await store.inbox("from-before")).map(({ version, json }) => [version, JSON.parse(json).prompt])).toEqual([
    [1, "And then rest"],
  ]);
  expect(await store.documents.list("task", "from-before/")).toHaveLength(2);
  expect(await store.boards.read({ repository: "/tmp/project", branch: "main" })).toEqual([]);
  await store.close();
});

test("standing permissions become one document per answer", async () => {
  const store = openSqlite({ path });
  const all = async (kind: string) =>
    (await store.documents.list(kind, "")).map(({ key, version, json }) => [key, version, JSON.parse(json)]);
  expect(await all("allowed-domain")).toEqual([["example.com", 1, { domain: "example.com" }]]);
  const approval = { kind: "commands", commandIdentifiers: ["git status"] };
  expect(await all("folder-approval")).toEqual([[`/tmp/project\n${JSON.stringify(approval)}`, 1, approval]]);
  const rule = { kind: "shell", argument: "ls" };
  expect(await all("folder-rule")).toEqual([[`/tmp/project\n${JSON.stringify(rule)}`, 1, rule]]);
  expect([await all("approvals"), await all("location-rules")]).toEqual([[], []]);
  await store.close();
});

test("an unreadable answer does not prevent a store from opening", async () => {
  const before = openDatabase(path);
  before.exec("UPDATE documents SET json = '{' WHERE kind IN ('approvals', 'location-rules')");
  before.close();
  const store = openSqlite({ path });
  expect(await store.documents.list("folder-approval", "")).toEqual([]);
  await store.close();
});

test("a migration that fails leaves the file as it was", () => {
  const before = openDatabase(path);
  before.exec("CREATE TABLE leases (something TEXT)");
  before.close();
  expect(() => openSqlite({ path })).toThrow(/Cannot open the store|could not be written/);
  const after = openDatabase(path);
  expect(after.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 });
  expect(after.prepare("SELECT count(*) AS n FROM writers").get()).toEqual({ n: 2 });
  after.close();
});

test("two processes that open an old store at the same time both find it migrated", async () => {
  const one = openDatabase(path);
  one.exec("PRAGMA journal_mode = WAL");
  const stores = [openSqlite({ path }), openSqlite({ path })];
  for (const store of stores) expect(await store.sessions.list()).toHaveLength(2);
  await Promise.all(stores.map((store) => store.close()));
  one.close();
});
