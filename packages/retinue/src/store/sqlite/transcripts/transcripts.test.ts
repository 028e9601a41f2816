import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDatabase } from "../../sqlite-door.ts";
import { begin, event } from "../../store.contract.ts";
import type { TranscriptChange } from "../../transcript-records.ts";
import { transcriptContract } from "../../transcripts.contract.ts";
import { openSqlite } from "../store.ts";

const NOON = Date.UTC(2026, 10, 15, 12);
const session = { sessionKey: "a", harness: "claude-code", agentId: "default" };
const said = (text: string): TranscriptChange => ({
  type: "turns",
  session,
  at: NOON,
  turns: [{ role: "user", text }],
});

transcriptContract("sqlite", () => openSqlite({ path: ":memory:" }));

test("the view session_transcripts has the documented columns, with the whole text", async () => {
  const store = openSqlite({ path: ":memory:" });
  const turns = [
    { role: "user", text: "find the lock" },
    { role: "assistant", tool: "Bash", text: "ls" },
    { role: "tool", text: "lock.ts" },
    { role: "assistant", text: "it is in lock.ts" },
  ] as const;
  await store.transcripts.record({
    changes: [
      { type: "opened", session, at: NOON, project: "/projects/shop" },
      { type: "turns", session, at: NOON, turns },
    ],
  });
  expect(store.db.prepare("SELECT * FROM session_transcripts").all()).toEqual([
    {
      session_key: "a",
      content: "User: find the lock\nCall Bash: ls\nResult: lock.ts\nAssistant: it is in lock.ts",
      harness: "claude-code",
      project: "/projects/shop",
      agent_id: "default",
      created_at: "2026-11-15T12:00:00.000Z",
      updated_at: "2026-11-15T12:00:00.000Z",
    },
  ]);
  store.close();
});

test("a batch is written as a whole or not at all when the disk is full, and the store works afterwards", async () => {
  const store = openSqlite({ path: ":memory:" });
  const { page_count: pages } = store.db.prepare("PRAGMA page_count").get();
  store.db.exec(`PRAGMA max_page_count = ${pages}`);
  const write = () => store.transcripts.record({ changes: Array.from({ length: 100 }, () => said("y".repeat(5_000))) });
  await expect(write()).rejects.toMatchObject({ code: "store_unavailable" });
  expect((await store.transcripts.sessions.resolve(session)).session).toBeUndefined();
  store.db.exec("PRAGMA max_page_count = 1000000");
  await write();
  expect((await store.transcripts.sessions.resolve(session)).session?.turnCount).toBe(100);
  store.close();
});

test("events are rolled back when their transcript cannot be written", async () => {
  const store = openSqlite({ path: ":memory:" });
  const begun = await begin(store, "a");
  const commit = () => store.commit({ ...begun, events: [event("1", "a")], transcript: [said("x")] });
  store.db.exec("ALTER TABLE transcript_turns RENAME TO turns_elsewhere");
  await expect(commit()).rejects.toThrow("The store could not be written: no such table");
  expect(await store.events.count("a")).toBe(0);
  store.db.exec("ALTER TABLE turns_elsewhere RENAME TO transcript_turns");
  await commit();
  expect(await store.events.count("a")).toBe(1);
  store.close();
});

describe("the tables of continuity", () => {
  let path = "";
  beforeEach(() => {
    path = join(mkdtempSync(join(tmpdir(), "retinue-transcripts-")), "retinue.db");
  });
  afterEach(() => rmSync(join(path, ".."), { recursive: true }));

  const schemaOf = (file: string) => {
    const db = openDatabase(file);
    const { value } = db.prepare("SELECT value FROM continuity_meta WHERE key = 'schema'").get();
    db.close();
    return value;
  };

  /** A file of the previous version. */
  async function writeVersion1(): Promise<void> {
    const store = openSqlite({ path });
    await store.transcripts.record({ changes: [said("kept from before")] });
    store.db.exec(
      "DELETE FROM continuity_meta WHERE key = 'deletions'; UPDATE continuity_meta SET value = 1 WHERE key = 'schema'",
    );
    store.close();
  }

  test("of the previous version are migrated with all their data", async () => {
    await writeVersion1();
    const store = openSqlite({ path });
    const found = (await store.transcripts.sessions.resolve(session)).session;
    expect(found?.turnCount).toBe(1);
    await store.transcripts.record({ changes: [said("and after")] });
    expect((await store.transcripts.turns.read(found?.id ?? 0)).map(({ text }) => text)).toEqual([
      "kept from before",
      "and after",
    ]);
    await store.transcripts.retention.delete(found?.id ?? 0);
    expect((await store.transcripts.index.next(1)).mark.deletions).toBe(1);
    store.close();
    expect(schemaOf(path)).toBe(2);
  });

  test("of a newer version are left alone, and the message says so", () => {
    const store = openSqlite({ path });
    store.db.exec("UPDATE continuity_meta SET value = 999 WHERE key = 'schema'");
    store.close();
    expect(() => openSqlite({ path })).toThrow(/newer version of Retinue \(continuity schema 999\)/);
    expect(schemaOf(path)).toBe(999);
  });
});
