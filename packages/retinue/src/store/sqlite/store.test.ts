import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { boardsContract } from "../boards.contract.ts";
import { isProcessAlive, thisProcess } from "../holder.ts";
import { begin, event, type OpenStore, storeContract } from "../store.contract.ts";
import { openSqlite } from "./store.ts";

const ALL_ALIVE = () => true;

storeContract("sqlite in memory", (isAlive = ALL_ALIVE) => openSqlite({ path: ":memory:", isAlive }));

const onDisk: OpenStore = (isAlive = ALL_ALIVE) => {
  const folder = mkdtempSync(join(tmpdir(), "retinue-sqlite-"));
  const store = openSqlite({ path: join(folder, "retinue.db"), isAlive });
  const close = async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  };
  return { ...store, close };
};
storeContract("sqlite on disk", onDisk);

boardsContract("sqlite in memory", () => openSqlite({ path: ":memory:" }));
boardsContract("sqlite on disk", onDisk);

test("events are rolled back when their transcript cannot be written", async () => {
  const store = openSqlite({ path: ":memory:" });
  const session = { agentId: "default", harness: "retinue", sessionKey: "a" };
  const transcript = [{ type: "titled", session, at: 1, title: "a title" }] as const;
  const batch = { ...(await begin(store, "a")), events: [event("1", "a")], transcript };
  store.db.exec("ALTER TABLE transcript_sessions RENAME TO away");
  await expect(store.commit(batch)).rejects.toThrow("The store could not be written: no such table");
  expect(await store.events.count("a")).toBe(0);
  store.db.exec("ALTER TABLE away RENAME TO transcript_sessions");
  await store.commit(batch);
  expect(await store.events.count("a")).toBe(1);
  await store.close();
});

test("the row of a session is written once a second and when its lease is released; readers see the latest use all the time", async () => {
  const store = openSqlite({ path: ":memory:" });
  const batch = await begin(store, "a", { updatedAt: 10_000 });
  const read = async () => [
    store.db.prepare("SELECT updated_at FROM sessions WHERE id = 'a'").get()?.updated_at,
    (await store.sessions.get("a"))?.updatedAt,
    (await store.sessions.list())[0]?.updatedAt,
  ];
  await store.commit({ ...batch, at: 10_999 });
  expect(await read()).toEqual([10_000, 10_999, 10_999]);
  await store.commit({ ...batch, at: 11_000 });
  expect(await read()).toEqual([11_000, 11_000, 11_000]);
  await store.commit({ ...batch, at: 11_500 });
  await store.leases.release(batch.lease);
  expect(await read()).toEqual([11_500, 11_500, 11_500]);
  await store.close();
});

test("a use that was rolled back is written with the next commit", async () => {
  const store = openSqlite({ path: ":memory:" });
  const batch = await begin(store, "a", { updatedAt: 10_000 });
  const twice = { add: { id: "i", sessionId: "a", version: 1, json: "{}" } };
  await expect(store.commit({ ...batch, at: 20_000, inbox: [twice, twice] })).rejects.toThrow("UNIQUE");
  await store.commit({ ...batch, at: 20_001 });
  expect(store.db.prepare("SELECT updated_at FROM sessions").get()?.updated_at).toBe(20_001);
  await store.close();
});

describe("a store file", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "retinue-sqlite-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test("keeps what was committed for the next process, and two processes may have it open", async () => {
    const path = join(folder, "retinue.db");
    const one = openSqlite({ path });
    const two = openSqlite({ path });
    const [a, b] = [await begin(one, "a"), await begin(two, "b")];
    await one.commit({ ...a, events: [event("1", "a")] });
    expect(await two.events.count("a")).toBe(1);
    await two.commit({ ...b, events: [event("2", "b")] });
    await Promise.all([one.close(), two.close()]);
    const later = openSqlite({ path });
    expect([await later.events.count("a"), await later.events.count("b")]).toEqual([1, 1]);
    await later.close();
  });

  test("of a newer version is left alone, and the message says so", async () => {
    const path = join(folder, "retinue.db");
    const store = openSqlite({ path });
    store.db.exec("PRAGMA user_version = 999");
    await store.close();
    expect(() => openSqlite({ path })).toThrow(/newer version of Retinue \(schema 999\)/);
  });
});

test("a process is not taken for a later one with the same pid", () => {
  const { pid, startedAt } = thisProcess();
  expect(isProcessAlive({ pid, startedAt })).toBe(true);
  if (startedAt !== 0) expect(isProcessAlive({ pid, startedAt: startedAt - 1 })).toBe(false);
  expect(isProcessAlive({ pid: 2 ** 22 - 1, startedAt: 5 })).toBe(false);
});
