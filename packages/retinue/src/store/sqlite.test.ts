import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isProcessAlive, openSqlite, thisProcess } from "./sqlite.ts";
import { event, storeContract } from "./store.contract.ts";

storeContract("sqlite in memory", () => openSqlite({ path: ":memory:" }));

storeContract("sqlite on disk", () => {
  const folder = mkdtempSync(join(tmpdir(), "retinue-sqlite-"));
  const store = openSqlite({ path: join(folder, "retinue.db") });
  const close = () => {
    store.close();
    rmSync(folder, { recursive: true });
  };
  return { ...store, close };
});

describe("a store file", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "retinue-sqlite-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test("keeps what was committed for the next process, and two may have it open", () => {
    const path = join(folder, "retinue.db");
    const one = openSqlite({ path });
    const two = openSqlite({ path });
    one.commit({ rootId: "a", events: [event("1", "a")] });
    expect(two.countEvents("a")).toBe(1);
    two.commit({ rootId: "a", events: [event("2", "a")] });
    one.close();
    two.close();
    const later = openSqlite({ path });
    expect(later.countEvents("a")).toBe(2);
    later.close();
  });

  test("of a newer version is left alone, and the message says so", () => {
    const path = join(folder, "retinue.db");
    const store = openSqlite({ path });
    store.db.exec("PRAGMA user_version = 999");
    store.close();
    expect(() => openSqlite({ path })).toThrow(/newer version of Retinue \(schema 999\)/);
  });
});

describe("the right to write a session", () => {
  const other = { pid: 4_000_000, startedAt: 5 };

  test("is one process's until it gives it back", () => {
    const store = openSqlite({ path: ":memory:", isAlive: () => true });
    expect(store.acquire("a", other)).toBe(true);
    expect(store.acquire("a", other)).toBe(true);
    expect(store.acquire("a", thisProcess())).toBe(false);
    expect(store.holder("a")).toEqual(other);
    store.release("a");
    expect(store.holder("a")).toBeUndefined();
    expect(store.acquire("a", thisProcess())).toBe(true);
    store.close();
  });

  test("of a dead process is free", () => {
    const store = openSqlite({ path: ":memory:" });
    store.acquire("a", other);
    expect(store.holder("a")).toBeUndefined();
    expect(store.acquire("a", thisProcess())).toBe(true);
    store.close();
  });

  test("does not pass to a later process with the same number", () => {
    const { pid, startedAt } = thisProcess();
    expect(isProcessAlive({ pid, startedAt })).toBe(true);
    if (startedAt !== 0) expect(isProcessAlive({ pid, startedAt: startedAt - 1 })).toBe(false);
  });
});
