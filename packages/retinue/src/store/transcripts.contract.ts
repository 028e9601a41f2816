/** What every store must do with transcripts. Each implementation runs this suite with a function that opens an empty store. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { begin, event, session as sessionRecord } from "./store.contract.ts";
import type { Store } from "./store.ts";
import {
  MAX_TOOL_TEXT,
  type NewTurn,
  OWN_HARNESS,
  type SessionName,
  type TranscriptChange,
  type TranscriptSession,
} from "./transcript-records.ts";
import { INDEX_BATCH, type SearchWithin, type TranscriptStore } from "./transcripts.ts";

const NOW = 1_000;
const named = (sessionKey: string, more: Partial<SessionName> = {}): SessionName => ({
  sessionKey,
  harness: "claude-code",
  agentId: "default",
  ...more,
});
const own = (sessionKey: string) => named(sessionKey, { harness: OWN_HARNESS });
const said = (session: SessionName, ...texts: string[]): TranscriptChange => ({
  type: "turns",
  session,
  at: NOW,
  turns: texts.map((text): NewTurn => ({ role: "user", text })),
});

export function transcriptContract(name: string, open: () => Store | Promise<Store>): void {
  let store: Store;
  let transcripts: TranscriptStore;
  beforeEach(async () => {
    store = await open();
    transcripts = store.transcripts;
  });
  afterEach(() => store.close());

  const record = (...changes: TranscriptChange[]) => transcripts.record({ changes });
  const find = async (session: SessionName): Promise<TranscriptSession> => {
    const { session: found } = await transcripts.sessions.resolve(session);
    if (!found) throw new Error(`no session ${session.sessionKey}`);
    return found;
  };
  const texts = async (session: SessionName) =>
    (await transcripts.turns.read((await find(session)).id)).map(({ text }) => text);
  const keys = (sessions: readonly SessionName[]) => sessions.map(({ sessionKey }) => sessionKey);
  const all = { agentId: "default", limit: 100, offset: 0 };
  /** Indexes the turns unchanged. */
  const indexed = async () => {
    const { mark, turns } = await transcripts.index.next(1_000);
    return await transcripts.index.add(
      mark,
      turns.map(({ id, sessionId, text }) => ({ id, sessionId, words: text })),
    );
  };

  describe(`${name}: turns`, () => {
    test("are read in order, whatever was stored between them", async () => {
      for (const n of [1, 2, 3]) await record(said(named("a"), `a${n}`), said(named("b"), `b${n}`));
      const { id } = await find(named("a"));
      const turns = await transcripts.turns.read(id);
      expect(turns.map(({ seq, text }) => [seq, text])).toEqual([
        [1, "a1"],
        [2, "a2"],
        [3, "a3"],
      ]);
      expect((await transcripts.turns.read(id, { backward: true, limit: 1 }))[0]?.text).toBe("a3");
      expect((await transcripts.turns.read(id, { backward: true, before: 3 })).map(({ text }) => text)).toEqual([
        "a2",
        "a1",
      ]);
      expect((await transcripts.turns.read(id, { after: 1, limit: 1 }))[0]?.text).toBe("a2");
    });

    test("keep all their fields, and have the time of their change when they have none of their own", async () => {
      const turn: NewTurn = { role: "tool", text: "x", tool: "Bash", callId: "c", sourceId: "line-1", at: 5 };
      await record({ type: "turns", session: named("a"), at: NOW, turns: [turn, { role: "user", text: "y" }] });
      const { id } = await find(named("a"));
      const [first, second] = await transcripts.turns.read(id);
      expect(first).toMatchObject(turn);
      expect(second).toMatchObject({ role: "user", text: "y", at: NOW, seq: 2 });
      expect([...(await transcripts.turns.sources(id))]).toEqual(["line-1"]);
    });

    test("of a tool are cut in the middle when too long", async () => {
      const text = `first ${"x".repeat(100_000)} last`;
      await record({ type: "turns", session: named("a"), at: NOW, turns: [{ role: "tool", text }] });
      const [kept = ""] = await texts(named("a"));
      expect(kept.length).toBeLessThan(MAX_TOOL_TEXT + 100);
      expect(kept).toMatch(/^first x+\n\[84011 characters left out\]\nx+ last$/);
    });

    test("with NUL bytes are stored whole", async () => {
      await record(said(named("a"), "before\0after the zero"));
      expect(await texts(named("a"))).toEqual(["before\u2400after the zero"]);
    });

    test("do not make a session older when the clock went back", async () => {
      await record(said(named("a"), "now"), { ...said(named("a"), "later"), at: NOW - 500 });
      expect(await find(named("a"))).toMatchObject({ updatedAt: NOW, turnCount: 2, lastSeq: 2 });
    });
  });

  describe(`${name}: sessions`, () => {
    test("are created by the first change that names them", async () => {
      await record({ type: "ended", session: named("a"), at: NOW, reason: "other" });
      expect(await find(named("a"))).toMatchObject({ createdAt: NOW, endedAt: NOW, endReason: "other", lastSeq: 0 });
      expect(await transcripts.sessions.resolve(named("b"))).toEqual({ name: named("b"), session: undefined });
    });

    test("of two harnesses with the same key are kept apart", async () => {
      const theirs = named("a", { harness: "opencode" });
      await record(said(named("a"), "ours"), said(theirs, "theirs"), said(theirs, "more"));
      expect(await texts(named("a"))).toEqual(["ours"]);
      await record(said(theirs, "by key"), said(named("opencode:a", { harness: "opencode" }), "by its stored key"));
      expect(await texts(theirs)).toEqual(["theirs", "more", "by key", "by its stored key"]);
      expect((await transcripts.sessions.resolve(theirs)).name.sessionKey).toBe("opencode:a");
      expect(keys(await transcripts.sessions.byKey("a", "opencode"))).toEqual(["opencode:a"]);
      expect(keys(await transcripts.sessions.byKey("a", "claude-code"))).toEqual(["a"]);
    });

    test("of two agents with the same key are both found by it", async () => {
      await record(said(named("a"), "x"), said(named("a", { agentId: "red" }), "y"));
      expect((await transcripts.sessions.byKey("a")).map(({ agentId }) => agentId).sort()).toEqual(["default", "red"]);
    });

    test("fill in what was unknown: a project is replaced, a title stays until it is given", async () => {
      const session = named("a");
      await record(
        { type: "opened", session, at: NOW, title: "first" },
        { type: "opened", session, at: NOW, project: "/one", title: "second" },
      );
      expect(await find(session)).toMatchObject({ project: "/one", title: "first" });
      await record(
        { type: "opened", session, at: NOW, project: "/two" },
        { type: "titled", session, at: NOW, title: "third" },
      );
      expect(await find(session)).toMatchObject({ project: "/two", title: "third" });
      await record({ type: "opened", session: named("kid"), at: NOW, projectOf: session });
      expect((await find(named("kid"))).project).toBe("/two");
    });

    test("that have ended run again with a new turn, or when they are reopened", async () => {
      for (const [key, change] of [
        ["a", said(named("a"), "more")],
        ["b", { type: "reopened", session: named("b"), at: NOW }],
      ] as const) {
        await record({ type: "ended", session: named(key), at: NOW });
        await record(change);
        expect((await find(named(key))).endedAt).toBeUndefined();
      }
    });

    test("that an agent may read are listed with the last used first", async () => {
      const red = named("red", { agentId: "red" });
      await record(
        said(named("old"), "x"),
        { ...said(named("new", { harness: "codex" }), "x"), at: NOW + 1 },
        { type: "ended", session: named("new", { harness: "codex" }), at: NOW + 1 },
        said(red, "x"),
      );
      const list = async (query: object) => keys(await transcripts.sessions.list({ ...all, ...query }));
      expect(await list({})).toEqual(["new", "old"]);
      expect(await list({ limit: 1, offset: 1 })).toEqual(["old"]);
      expect(await list({ harness: "codex" })).toEqual(["new"]);
      expect(await list({ isRunning: true })).toEqual(["old"]);
      await transcripts.agents.set("default", { reads: "shared", visibility: "private" });
      expect(await list({})).not.toContain("red");
      await transcripts.agents.set("red", { reads: "isolated", visibility: "global" });
      expect(await list({})).toContain("red");
      expect(await list({ agentId: "red" })).toEqual(["red"]);
      expect(await transcripts.agents.get("red")).toEqual({ reads: "isolated", visibility: "global" });
    });

    test("of a folder are those in it and below it, not those beside it", async () => {
      for (const [key, project] of Object.entries({ in: "/shop", below: "/shop/api", beside: "/shopping" }))
        await record({ type: "opened", session: named(key), at: NOW, project });
      const found = await transcripts.sessions.list({ ...all, folder: "/shop" });
      expect(keys(found).sort()).toEqual(["below", "in"]);
    });

    test("that run, and those that are read from a file, are found", async () => {
      const like = { agentId: "default", harness: "claude-code", limit: 10 };
      await record(
        { type: "opened", session: named("here"), at: NOW, project: "/shop" },
        { type: "turns", session: named("nowhere"), at: NOW, turns: [], reading: "{}" },
        { type: "ended", session: named("ended"), at: NOW },
      );
      expect(keys(await transcripts.sessions.running({ ...like, project: "/shop" }))).toEqual(["here"]);
      expect(keys(await transcripts.sessions.running(like))).toEqual(["nowhere"]);
      expect(keys(await transcripts.sessions.followed({ since: NOW - 1 }))).toEqual(["nowhere"]);
      expect(await transcripts.sessions.followed({ since: NOW })).toEqual([]);
    });
  });

  describe(`${name}: a batch`, () => {
    const session = named("a");
    const expecting = async (was: TranscriptSession | undefined) =>
      (await transcripts.record({ changes: [said(session, "mine")], expects: [{ session, was }] })).isStored;

    test("that expects a session as it is, or its absence, is stored", async () => {
      expect(await expecting(undefined)).toBe(true);
      expect(await expecting(await find(session))).toBe(true);
      expect(await texts(session)).toEqual(["mine", "mine"]);
    });

    test.each<[string, TranscriptChange]>([
      ["has a turn more", said(session, "theirs")],
      ["was read further", { type: "turns", session, at: NOW, turns: [], reading: '{"offset":1}' }],
    ])("is refused, and nothing of it stored, when the session %s", async (_, change) => {
      await record({ type: "opened", session, at: NOW });
      const was = await find(session);
      await record(change);
      const before = await texts(session);
      expect(await expecting(was)).toBe(false);
      expect(await texts(session)).toEqual(before);
    });

    test("is refused when the session was created or deleted meanwhile", async () => {
      await record({ type: "opened", session, at: NOW });
      expect(await expecting(undefined)).toBe(false);
      const was = await find(session);
      await transcripts.retention.delete(was.id);
      expect(await expecting(was)).toBe(false);
      expect((await transcripts.sessions.resolve(session)).session).toBeUndefined();
    });

    test("that claims a call of another session is refused", async () => {
      await record({ type: "call-opened", session, at: NOW, callId: "c", tool: "Agent" });
      const root = await find(session);
      const [call] = await transcripts.calls.unclaimed({ root, since: 0 });
      if (!call) throw new Error("no open call");
      const claim = (key: string): TranscriptChange => ({ type: "call-claimed", session: named(key), at: NOW, call });
      expect((await record(claim("one"))).isStored).toBe(true);
      expect((await record(said(named("two"), "lost"), claim("two"))).isStored).toBe(false);
      expect((await transcripts.sessions.resolve(named("two"))).session).toBeUndefined();
      expect(await transcripts.calls.unclaimed({ root, since: 0 })).toEqual([]);
    });
  });

  describe(`${name}: with the events of our own sessions`, () => {
    test("changes are stored in the same commit", async () => {
      const begun = await begin(store, "a");
      await store.commit({ ...begun, events: [event("1", "a")], transcript: [said(own("a"), "hello")] });
      expect(await texts(own("a"))).toEqual(["hello"]);
    });

    test("deleting a session deletes its transcript, and no other", async () => {
      const begun = await begin(store, "a");
      await store.commit({ ...begun, created: [sessionRecord("kid", { rootId: "a", parentId: "a" })] });
      await record(
        said(own("a"), "x"),
        said(own("kid"), "y"),
        said(named("b"), "z"),
        said(named("a", { harness: "codex" }), "w"),
      );
      await store.sessions.delete(begun.lease, { kinds: [] });
      expect(keys(await transcripts.sessions.list(all)).sort()).toEqual(["b", "codex:a"]);
    });
  });

  describe(`${name}: lineage, checkpoints and calls`, () => {
    const child = (key: string, parent: string): TranscriptChange => ({
      type: "parent",
      session: named(key),
      at: NOW,
      parent: named(parent),
      how: "test",
    });

    test("a tree is found from any of its sessions, with its root first", async () => {
      await record(said(named("kid"), "x"), child("kid", "root"), child("grandkid", "kid"), said(named("other"), "x"));
      for (const key of ["root", "kid", "grandkid"]) {
        const tree = await transcripts.sessions.tree((await find(named(key))).id);
        expect(keys(tree)).toEqual(["root", "kid", "grandkid"]);
      }
      expect((await find(named("kid"))).lineage).toBe("test");
    });

    test("no session becomes its own ancestor, and a reason does not replace a parent", async () => {
      await record(child("kid", "root"), child("grandkid", "kid"));
      await record(child("root", "grandkid"), child("root", "root"));
      expect((await find(named("root"))).parentId).toBeUndefined();
      await record({ type: "no-parent", session: named("kid"), at: NOW, reason: "unclear" });
      await record({ type: "no-parent", session: named("root"), at: NOW, reason: "unclear" });
      expect([(await find(named("kid"))).lineage, (await find(named("root"))).lineage]).toEqual(["test", "unclear"]);
    });

    test("a checkpoint covers every turn before it, and the newest comes first", async () => {
      const session = named("a");
      await record(
        said(session, "one"),
        { type: "checkpoint", session, at: NOW, summary: "so far", origin: "compaction" },
        said(session, "two"),
      );
      const { id } = await find(session);
      const added = await transcripts.checkpoints.add(id, {
        summary: "all",
        entities: ["Bird"],
        origin: "cli",
        at: NOW,
      });
      expect(added).toMatchObject({ summary: "all", entities: ["Bird"], uptoSeq: 2, origin: "cli", at: NOW });
      const listed = await transcripts.checkpoints.list(id);
      expect(listed.map(({ summary, uptoSeq }) => [summary, uptoSeq])).toEqual([
        ["all", 2],
        ["so far", 1],
      ]);
      expect(await transcripts.checkpoints.list(id, 1)).toEqual([added]);
    });

    test("a call has a caller while it is open, unless two sessions opened it", async () => {
      const opened = (key: string): TranscriptChange => ({
        type: "call-opened",
        session: named(key),
        at: NOW,
        callId: "c",
        tool: "Agent",
      });
      await record(opened("a"));
      expect((await transcripts.calls.caller("c"))?.sessionKey).toBe("a");
      await record(opened("b"));
      expect(await transcripts.calls.caller("c")).toBeUndefined();
      await record({ type: "call-closed", session: named("a"), at: NOW, callId: "c" });
      expect((await transcripts.calls.caller("c"))?.sessionKey).toBe("b");
      await record({ type: "calls-closed", session: named("b"), at: NOW });
      expect(await transcripts.calls.caller("c")).toBeUndefined();
    });

    test("unclaimed calls are those of a session and below its key, oldest first, not too old", async () => {
      const opened = (key: string, at: number): TranscriptChange => ({
        type: "call-opened",
        session: named(key),
        at,
        callId: key,
        tool: "Agent",
      });
      await record(opened("p:b", 30), opened("p", 20), opened("p:a", 5), opened("px", 25));
      const root = await find(named("p"));
      const calls = await transcripts.calls.unclaimed({ root, since: 10 });
      expect(calls.map(({ callId, session }) => [callId, session.sessionKey])).toEqual([
        ["p", "p"],
        ["p:b", "p:b"],
      ]);
    });
  });

  describe(`${name}: entities and tokens`, () => {
    test("entities belong to an agent, have case-insensitive names, and are stored once", async () => {
      const { entities } = transcripts;
      await entities.add({ agentId: "red", name: "Ledger", at: NOW });
      const attribute = {
        agentId: "red",
        entity: "ledger",
        kind: "constraint",
        content: "no deletes",
        at: NOW,
      } as const;
      const id = await entities.addAttribute(attribute);
      expect(await entities.addAttribute(attribute)).toBe(id);
      expect(await entities.list("red")).toEqual([
        { name: "Ledger", agentId: "red", attributes: [{ id, kind: "constraint", content: "no deletes" }] },
      ]);
      expect(await entities.list("blue")).toEqual([]);
      expect(await entities.removeAttribute("blue", id)).toBe(false);
      expect(await entities.removeAttribute("red", id)).toBe(true);
      expect(await entities.remove("red", "LEDGER")).toBe(true);
      expect(await entities.list("red")).toEqual([]);
    });

    test("a token is found by its hash until it is removed, and its name is unique", async () => {
      const { tokens } = transcripts;
      expect(await tokens.add({ hash: "h", name: "red", agentId: "red", at: NOW })).toBe(true);
      expect(await tokens.add({ hash: "other", name: "red", project: "/x", at: NOW })).toBe(false);
      expect(await tokens.find("h")).toEqual({ name: "red", agentId: "red", project: undefined });
      expect(await tokens.list()).toHaveLength(1);
      expect(await tokens.remove("red")).toBe(true);
      expect(await tokens.find("h")).toBeUndefined();
    });
  });

  describe(`${name}: retention`, () => {
    test("a session is deleted with its children, and one that is read from a file keeps only its reading position", async () => {
      await record(
        { type: "turns", session: named("p"), at: NOW, turns: [{ role: "user", text: "x" }], reading: "{}" },
        said(named("kid"), "y"),
        { type: "parent", session: named("kid"), at: NOW, parent: named("p"), how: "test" },
        said(named("other"), "z"),
      );
      expect(await transcripts.retention.delete((await find(named("p"))).id)).toBe(2);
      expect(keys(await transcripts.sessions.list(all))).toEqual(["other"]);
      expect(await find(named("p"))).toMatchObject({ reading: "{}", turnCount: 0, lastSeq: 1 });
      expect(await texts(named("p"))).toEqual([]);
      expect((await transcripts.sessions.resolve(named("kid"))).session).toBeUndefined();
    });

    test("old sessions are pruned by the time of their last use, then the oldest above a size", async () => {
      for (const [n, key] of ["a", "b", "c"].entries())
        await record({ ...said(named(key), "x".repeat(1_000)), at: NOW + n });
      expect(await transcripts.retention.prune({ unusedSince: NOW + 1 })).toBe(1);
      expect(await transcripts.retention.prune({ maxBytes: 1_500 })).toBe(1);
      expect(keys(await transcripts.sessions.list(all))).toEqual(["c"]);
    });
  });

  describe(`${name}: the index`, () => {
    const matches = async (words: string[], within: Partial<SearchWithin> = {}) => {
      const terms = words.map((word) => ({ words: word.split(" "), isPrefix: false }));
      const found = await transcripts.search.matches({ terms, within: { agentId: "default", ...within }, wanted: 10 });
      const shown = async (ids: readonly { id: number }[]) =>
        (await transcripts.search.turns(ids.map(({ id }) => id))).map(({ session }) => session.sessionKey).sort();
      return { all: await shown(found.all), some: await shown(found.some) };
    };

    test("has turns once they were added, and counts those that wait", async () => {
      await record(said(named("a"), "the lock file"), said(named("b"), "a file", "a lock"));
      expect([await transcripts.index.backlog(2), await transcripts.index.backlog(10)]).toEqual([2, 3]);
      expect(await matches(["lock"])).toEqual({ all: [], some: [] });
      expect(await indexed()).toBe(true);
      expect(await transcripts.index.backlog(10)).toBe(0);
      expect((await matches(["lock"])).all).toEqual(["a", "b"]);
    });

    test("is due with the turn that makes a batch full", async () => {
      const texts = Array.from({ length: INDEX_BATCH - 1 }, (_, n) => `turn ${n}`);
      expect(await record(said(named("a"), ...texts))).toEqual({ isStored: true, isIndexDue: false });
      expect(await record({ type: "reopened", session: named("a"), at: NOW })).toMatchObject({ isIndexDue: false });
      expect(await record(said(named("a"), "the last"))).toEqual({ isStored: true, isIndexDue: true });
    });

    test("finds all the terms, any of them, a phrase, and a prefix", async () => {
      await record(
        said(named("a"), "the lock file"),
        said(named("b"), "file of a lock"),
        said(named("c"), "reconciliation"),
      );
      await indexed();
      expect((await matches(["lock", "file"])).all).toEqual(["a", "b"]);
      expect((await matches(["lock file", "smith"])).some).toEqual(["a"]);
      expect((await matches(["lock file"])).all).toEqual(["a"]);
      const terms = [{ words: ["reconc"], isPrefix: true }];
      const found = await transcripts.search.matches({ terms, within: { agentId: "default" }, wanted: 1 });
      expect(found.all).toHaveLength(1);
    });

    test("searches only in the given scope", async () => {
      await record(
        said(named("p"), "zebra"),
        said(named("kid"), "zebra"),
        { type: "parent", session: named("kid"), at: NOW, parent: named("p"), how: "test" },
        { type: "opened", session: named("p"), at: NOW, project: "/shop" },
        { ...said(named("late", { harness: "codex" }), "zebra"), at: NOW + 10 },
        said(named("theirs", { agentId: "red" }), "zebra"),
      );
      await indexed();
      const { id } = await find(named("kid"));
      expect((await matches(["zebra"])).all).toEqual(["kid", "late", "p"]);
      expect((await matches(["zebra"], { sessionId: id })).all).toEqual(["kid"]);
      expect((await matches(["zebra"], { treeOf: id })).all).toEqual(["kid", "p"]);
      expect((await matches(["zebra"], { folder: "/shop" })).all).toEqual(["p"]);
      expect((await matches(["zebra"], { harness: "codex" })).all).toEqual(["late"]);
      expect((await matches(["zebra"], { since: NOW + 5 })).all).toEqual(["late"]);
      expect((await matches(["zebra"], { until: NOW + 5 })).all).toEqual(["kid", "p"]);
      expect((await matches(["zebra"], { agentId: "red" })).all).toEqual(["theirs"]);
    });

    test("refuses turns that were indexed or deleted meanwhile", async () => {
      await record(said(named("a"), "zebra"), said(named("b"), "zebra"));
      const { mark, turns } = await transcripts.index.next(10);
      const entries = turns.map(({ id, sessionId, text }) => ({ id, sessionId, words: text }));
      await transcripts.retention.delete((await find(named("b"))).id);
      expect(await transcripts.index.add(mark, entries)).toBe(false);
      expect(await indexed()).toBe(true);
      expect(await transcripts.index.add(mark, entries)).toBe(false);
      expect((await matches(["zebra"])).all).toEqual(["a"]);
    });

    test("forgets deleted turns, even when new ones follow", async () => {
      await record(said(named("a"), "zebra"), said(named("b"), "zebra"));
      await indexed();
      await transcripts.retention.delete((await find(named("b"))).id);
      await record(said(named("c"), "lion"));
      await indexed();
      expect((await matches(["zebra"])).all).toEqual(["a"]);
      expect((await matches(["lion"])).all).toEqual(["c"]);
      while (await transcripts.index.tidy());
      expect((await matches(["lion"])).all).toEqual(["c"]);
    });
  });
}
