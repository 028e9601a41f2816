/** The store under bad conditions: two processes, a full disk, a home that cannot be written. A clear message, and nothing is corrupted. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { runtimeConfig } from "../../packages/retinue/src/host/config.ts";
import { Runtime } from "../../packages/retinue/src/server/runtime.ts";
import type { SqliteStore } from "../../packages/retinue/src/store/sqlite/store.ts";
import { brokenLaws } from "../laws/checker.ts";
import type { LawEvent } from "../laws/law-event.ts";
import { promptOf } from "../laws/plan.ts";
import { World } from "../laws/world.ts";
import { Crashable } from "./crashable.ts";

test("two processes share a home; a session that one of them has open is refused by the other, in words, until it is free", async () => {
  await using first = await Crashable.start();
  await using second = await Crashable.start({ env: { COPILOT_HOME: first.folders.home } });
  const one = await first.connect({ attached: "nobody" });
  const two = await second.connect({ attached: "nobody" });
  const { sessionId } = await one.call<{ sessionId: string }>("session.create", first.session);
  await one.call("session.send", { sessionId, prompt: promptOf({ says: "first" }) });
  await one.until("session.idle");

  await expect(two.call("session.resume", { ...second.session, sessionId })).rejects.toThrow(
    /open in another process \(pid \d+\)/,
  );
  await expect(two.call("session.delete", { sessionId })).rejects.toThrow(/open in another process/);
  const own = await two.call<{ sessionId: string }>("session.create", second.session);
  expect(own.sessionId).not.toBe(sessionId);

  await first.kill();
  await two.call("session.resume", { ...second.session, sessionId });
  const { events } = await two.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  expect(events.filter(({ type }) => type === "assistant.message")).toHaveLength(1);
});

test("a full disk ends the run with a clear error, and the session goes on when there is room again", async () => {
  await using world = new World();
  const client = world.connect({ attached: "nobody" });
  const sessionId = await world.createSession(client);
  await client.call("session.send", { sessionId, prompt: promptOf({ says: "before" }) });
  await client.until("session.idle");

  const { db } = world.runtime.sessions.store as SqliteStore;
  const { page_count } = db.prepare("PRAGMA page_count").get() as { page_count: number };
  db.exec(`PRAGMA max_page_count = ${page_count}`);
  const long = promptOf({
    turns: Array.from({ length: 5 }, () => ({
      moves: [{ call: "list_agents", args: { filler: "x".repeat(20_000) } }],
    })),
    says: "while it was full",
  });
  await expect(client.call("session.send", { sessionId, prompt: long })).rejects.toThrow(/could not be written.*full/);
  expect(await client.call("ping", {})).toMatchObject({ message: "pong" });

  db.exec("PRAGMA max_page_count = 1000000");
  const after = client.events.length;
  await client.call("session.send", { sessionId, prompt: promptOf({ says: "after" }) });
  await client.until("session.idle", undefined, { after });
  const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  expect(events.filter(({ type }) => type === "assistant.message").map(({ data }) => data.content)).toEqual([
    "before",
    "after",
  ]);
  expect(brokenLaws(events, { clients: [client], maxDepth: 6 })).toEqual([]);
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
});

test("a disk that fills up while agents work stops them, tells the clients, and leaves a log that can be resumed", async () => {
  await using world = new World();
  const client = world.connect({ attached: "nobody" });
  const sessionId = await world.createSession(client);
  const worker = { turns: [{ gate: "full", moves: [{ call: "list_agents" }] }], says: "worker" };
  await client.call("session.send", {
    sessionId,
    prompt: promptOf({ turns: [{ moves: [{ task: worker, name: "worker" }] }], says: "root" }),
  });
  await world.gates.reached("full");
  const { db } = world.runtime.sessions.store as SqliteStore;
  const { page_count } = db.prepare("PRAGMA page_count").get() as { page_count: number };
  db.exec(`PRAGMA max_page_count = ${page_count}`);
  // What fits into the last page still fits; this does not.
  await expect(client.call("session.log", { sessionId, message: "x".repeat(50_000) })).rejects.toThrow(/full/);
  world.gates.open("full");
  await client.until("session.error", ({ data }) => JSON.stringify(data).includes("full"));

  db.exec("PRAGMA max_page_count = 1000000");
  client.vanish();
  await world.disconnected();
  await world.restart();
  const next = world.connect({ attached: "nobody" });
  await world.resumeSession(next, sessionId);
  await next.atRest(sessionId);
  const { events } = await next.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  expect(brokenLaws(events, { clients: [client, next], maxDepth: 6 })).toEqual([]);
});

test("a home that cannot be made, and a store that is no database, are named with what to do", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "retinue-store-"));
  try {
    const file = path.join(folder, "file");
    writeFileSync(file, "not a folder");
    expect(() => new Runtime({ config: { ...runtimeConfig({}), home: path.join(file, "home") } })).toThrow(
      /Cannot use the home folder .*RETINUE_HOME/,
    );
    writeFileSync(
      path.join(folder, "retinue.db"),
      "this is no database, and long enough to be looked at as one".repeat(20),
    );
    expect(() => new Runtime({ config: { ...runtimeConfig({}), home: folder } })).toThrow(
      /Cannot open the store .*retinue\.db/,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.skipIf(process.getuid?.() === 0)("a home that is read-only is named, and nothing is written", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "retinue-store-"));
  try {
    chmodSync(folder, 0o500);
    expect(() => new Runtime({ config: { ...runtimeConfig({}), home: folder } })).toThrow(/Cannot open the store/);
  } finally {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true });
  }
});
