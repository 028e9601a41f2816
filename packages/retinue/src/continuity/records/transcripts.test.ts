import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { search } from "../recall/search.ts";
import { type TestHome, testHome } from "../test-home.ts";
import { OWNER } from "./scope.ts";
import { inTransaction } from "./transaction.ts";
import { appendTurns, MAX_TOOL_TEXT, openSession, readTurns, sessionById, sessionsByKey } from "./transcripts.ts";

let home: TestHome;
beforeEach(() => {
  home = testHome();
});
afterEach(() => home.db.close());

const session = (sessionKey: string, more: { harness?: string; agentId?: string } = {}) =>
  openSession(home.db, {
    sessionKey,
    harness: "claude-code",
    agentId: "default",
    at: home.time.now,
    project: "/projects/shop",
    ...more,
  });

describe("the transcript store", () => {
  test("gives the turns of a session back in order, whatever came between them", () => {
    const [a, b] = [session("a"), session("b")];
    for (const n of [1, 2, 3]) {
      appendTurns(home.db, a, [{ role: "user", text: `a${n}` }], { now: home.time.now });
      appendTurns(home.db, b, [{ role: "user", text: `b${n}` }], { now: home.time.now });
    }
    expect(readTurns(home.db, a.id).map(({ seq, text }) => [seq, text])).toEqual([
      [1, "a1"],
      [2, "a2"],
      [3, "a3"],
    ]);
    expect(readTurns(home.db, a.id, { backward: true, limit: 1 })[0]?.text).toBe("a3");
    expect(readTurns(home.db, a.id, { after: 1, limit: 1 })[0]?.text).toBe("a2");
  });

  test("shows the columns of the spec in session_transcripts, with the whole text", () => {
    appendTurns(
      home.db,
      session("a"),
      [
        { role: "user", text: "find the lock" },
        { role: "assistant", tool: "Bash", text: "ls" },
        { role: "tool", text: "lock.ts" },
        { role: "assistant", text: "it is in lock.ts" },
      ],
      { now: home.time.now },
    );
    expect(home.db.prepare("SELECT * FROM session_transcripts").all()).toEqual([
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
  });

  test("keeps one key of two harnesses apart", () => {
    const [ours, theirs] = [session("a"), session("a", { harness: "opencode" })];
    expect(theirs.id).not.toBe(ours.id);
    expect(session("a", { harness: "opencode" }).id).toBe(theirs.id);
    expect(sessionsByKey(home.db, "a", "opencode").map(({ id }) => id)).toEqual([theirs.id]);
    expect(sessionsByKey(home.db, "a", "claude-code").map(({ id }) => id)).toEqual([ours.id]);
  });

  test("does not make a session older when the clock goes back", () => {
    const a = session("a");
    home.time.now -= 3_600_000;
    appendTurns(home.db, a, [{ role: "user", text: "later" }], { now: home.time.now });
    expect(sessionById(home.db, a.id)?.updatedAt).toBe(a.updatedAt);
    expect(readTurns(home.db, a.id)).toHaveLength(1);
  });

  test("bounds the result of a tool and keeps both its ends", () => {
    const a = session("a");
    appendTurns(home.db, a, [{ role: "tool", text: `first ${"x".repeat(100_000)} last` }], { now: 1 });
    const [turn] = readTurns(home.db, a.id);
    expect(turn?.text.length).toBeLessThan(MAX_TOOL_TEXT + 100);
    expect(turn?.text).toMatch(/^first x+\n\[84011 characters left out\]\nx+ last$/);
  });

  test("stores text with NUL bytes whole, and finds what stands behind them", () => {
    const a = session("a");
    appendTurns(home.db, a, [{ role: "user", text: "before\0after the zero" }], { now: 1 });
    expect(readTurns(home.db, a.id)[0]?.text).toBe("before\u2400after the zero");
    expect(search(home.db, { query: "zero", caller: OWNER, agentId: "default", now: 1 }).hits).toHaveLength(1);
  });

  test("writes all of a transaction or nothing when the disk is full, and goes on afterwards", () => {
    const a = session("a");
    const { page_count: pages } = home.db.prepare("PRAGMA page_count").get();
    home.db.exec(`PRAGMA max_page_count = ${pages}`);
    const write = () =>
      inTransaction(home.db, () => {
        for (let n = 0; n < 100; n++) appendTurns(home.db, a, [{ role: "user", text: "y".repeat(5_000) }], { now: 1 });
      });
    expect(write).toThrow(expect.objectContaining({ code: "store_unavailable" }));
    expect(readTurns(home.db, a.id)).toEqual([]);
    home.db.exec("PRAGMA max_page_count = 1000000");
    write();
    expect(readTurns(home.db, a.id)).toHaveLength(100);
  });
});
