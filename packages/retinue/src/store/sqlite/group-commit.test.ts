import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Database, openDatabase } from "../sqlite-door.ts";
import { begin, event } from "../store.contract.ts";
import { GroupCommit } from "./group-commit.ts";
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

/** Ours, and that of another process. Ours does not wait in SQLite. */
function twoConnections(): { db: Database; other: Database } & Disposable {
  const open = () => openDatabase(join(folder, "retinue.db"));
  const [db, other] = [open(), open()];
  db.exec("PRAGMA busy_timeout = 0");
  return { db, other, [Symbol.dispose]: () => [db, other].map((each) => each.close()) };
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

test("no transaction follows a commit that is alone in its turn", async () => {
  using others = twoConnections();
  const written: string[] = [];
  const group = new GroupCommit(others.db, {
    write: ({ lease }) => void written.push(lease.rootId),
    undone: () => undefined,
  });
  const [first, second] = await sessions();
  if (!first || !second) throw new Error("no sessions");
  await group.commit(first);
  others.other.exec("BEGIN IMMEDIATE");
  await nextTurn(); // A transaction now would find the file held, and everything after it would wait.
  others.other.exec("COMMIT");
  void group.commit(second);
  expect(written).toEqual(["a", "b"]);
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

describe("while another process holds the file", () => {
  /** Another process and a group of six commits that it holds up. */
  async function heldUp() {
    const batches = await sessions();
    const { other, db, ...connections } = twoConnections();
    const written: string[] = [];
    const group = new GroupCommit(db, {
      write: ({ lease }) => void written.push(lease.rootId),
      undone: () => undefined,
    });
    other.exec("BEGIN IMMEDIATE");
    const commits = Promise.allSettled(batches.map((batch) => group.commit(batch)));
    return { group, written, commits, release: () => other.exec("COMMIT"), ...connections };
  }

  test("commits wait, everything else goes on, and they are written in their order when it has done", async () => {
    using held = await heldUp();
    const begun = held.group.flush();
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(held.written).toEqual([]);
    held.release();
    await begun;
    expect(held.written).toEqual(NAMES);
    expect((await held.commits).map(({ status }) => status)).toEqual(NAMES.map(() => "fulfilled"));
  });

  test("for some seconds, all commits are refused, and the next one is tried again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      using held = await heldUp();
      await vi.advanceTimersByTimeAsync(10_000);
      expect((await held.commits).map((each) => each.status === "rejected" && String(each.reason))).toEqual(
        NAMES.map(() => expect.stringContaining("database is locked")),
      );
      held.release();
      const [batch] = await sessions();
      if (batch) await held.group.commit(batch);
      expect(held.written).toEqual(["a"]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a session can be opened, deleted and written to as soon as it has done", async () => {
    const other = openDatabase(join(folder, "retinue.db"));
    other.exec("BEGIN IMMEDIATE");
    const held = store.leases.acquire("late", { pid: 1, startedAt: 1 });
    const document = { kind: "k", key: "x", version: 1, json: "1" };
    const written = store.documents.write([{ put: document }]);
    await nextTurn();
    other.exec("COMMIT");
    other.close();
    expect(await held).toMatchObject({ lease: { rootId: "late" } });
    await written;
    expect(await store.documents.get("k", "x")).toEqual(document);
  });
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
