import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openDatabase } from "../sqlite-door.ts";
import { begin, event } from "../store.contract.ts";
import { groupCommit } from "./group-commit.ts";
import { openSqlite, type SqliteStore } from "./store.ts";

const NAMES = ["a", "b", "c", "d", "e", "f"];

let folder: string;
let store: SqliteStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "retinue-group-"));
  store = openSqlite({ path: join(folder, "retinue.db"), isAlive: () => true });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** A new turn of the event loop in which nothing was committed yet, with a lease for each name. */
async function sessions() {
  const batches = [];
  for (const name of NAMES) batches.push({ ...(await begin(store, name)), events: [event("1", name)] });
  await nextTurn();
  return batches;
}

/** The transactions in the log of the database: the last frame of each has the size of the file. */
function transactions(): number {
  const [HEAD, FRAME_HEAD, PAGE] = [32, 24, 2048];
  const log = readFileSync(join(folder, "retinue.db-wal"));
  let count = 0;
  for (let at = HEAD; at < log.length; at += FRAME_HEAD + PAGE) if (log.readUInt32BE(at + 4) !== 0) count++;
  return count;
}

test("six sessions that commit in one turn of the event loop take two transactions", async () => {
  const batches = await sessions();
  const before = transactions();
  await Promise.all(batches.map((batch) => store.commit(batch)));
  expect(transactions() - before).toBe(2);
  for (const name of NAMES) expect(await store.events.count(name)).toBe(1);
});

test("a commit that is alone in its turn is written before it returns", async () => {
  const [batch] = await sessions();
  if (batch) void store.commit(batch);
  expect(await store.events.count("a")).toBe(1);
});

test("a commit that is alone in its turn takes one transaction, and no empty one follows", async () => {
  const [batch] = await sessions();
  const db = openDatabase(join(folder, "retinue.db"));
  const begin = db.prepare("BEGIN IMMEDIATE");
  const begun = vi.spyOn(begin, "run");
  vi.spyOn(db, "prepare").mockReturnValueOnce(begin);
  const group = groupCommit(db, { write: () => undefined, undone: () => undefined });
  if (batch) await group.commit(batch);
  await nextTurn();
  expect(begun).toHaveBeenCalledTimes(1);
  db.close();
});

test("a batch without its lease is refused, and those that share its transaction are written", async () => {
  const batches = await sessions();
  const lost = { rootId: "c", number: 999 };
  const outcomes = await Promise.allSettled(
    batches.map((batch) => store.commit(batch.lease.rootId === "c" ? { ...batch, lease: lost } : batch)),
  );
  expect(outcomes.map(({ status }) => status === "fulfilled")).toEqual(NAMES.map((name) => name !== "c"));
  const counts = await Promise.all(NAMES.map((name) => store.events.count(name)));
  expect(counts).toEqual([1, 1, 0, 1, 1, 1]);
});

test("while another program holds the lock, a group is tried once and not batch by batch", async () => {
  const batches = await sessions();
  const other = openDatabase(join(folder, "retinue.db"));
  const db = openDatabase(join(folder, "retinue.db"));
  db.exec("PRAGMA busy_timeout = 0");
  let tries = 0;
  const group = groupCommit(db, { write: () => undefined, undone: () => void tries++ });
  other.exec("BEGIN IMMEDIATE");
  const outcomes = await Promise.allSettled(batches.map((batch) => group.commit(batch)));
  expect(outcomes.map(({ status }) => status)).toEqual(NAMES.map(() => "rejected"));
  expect(tries).toBe(NAMES.length);
  for (const each of [other, db]) each.close();
});

test("what was handed over before a lease is released, or a session deleted, is written first", async () => {
  const batches = await sessions();
  const commits = batches.map((batch) => store.commit(batch));
  const [, second, third] = batches;
  if (second) await store.leases.release(second.lease);
  if (third) await store.sessions.delete(third.lease, { kinds: [] });
  await Promise.all(commits);
  expect(await store.events.count("b")).toBe(1);
  expect(await store.events.count("c")).toBe(0);
});
