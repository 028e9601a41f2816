/** What every store must do. Each implementation runs this suite with a way to open an empty one. */
import { describe, expect, test } from "vitest";
import type { NewEvent, SessionRecord, Store } from "./store.ts";

export function storeContract(name: string, open: () => Store): void {
  const withStore = (work: (store: Store) => void) => () => {
    const store = open();
    try {
      work(store);
    } finally {
      store.close();
    }
  };

  describe(`${name}: events`, () => {
    test(
      "come back in the order in which they were committed, of one tree only",
      withStore((store) => {
        store.commit({ rootId: "a", events: [event("1", "a"), event("2", "child")] });
        store.commit({ rootId: "b", events: [event("3", "b")] });
        store.commit({ rootId: "a", events: [event("4", "a")] });
        expect(idsOf(store, "a")).toEqual(["1", "2", "4"]);
        expect(store.countEvents("a")).toBe(3);
        const positions = store.events("a").map(({ pos }) => pos);
        expect(positions).toEqual(positions.toSorted((x, y) => x - y));
      }),
    );

    test(
      "can be read by session, from a place, up to a place, in part and backward",
      withStore((store) => {
        store.commit({ rootId: "a", events: ["1", "2", "3", "4"].map((id) => event(id, id === "3" ? "child" : "a")) });
        const all = store.events("a");
        const ids = (query: Parameters<Store["events"]>[1]) =>
          store.events("a", query).map(({ json }) => JSON.parse(json).id);
        expect(ids({ sessionId: "child" })).toEqual(["3"]);
        expect(ids({ after: all[1]?.pos })).toEqual(["3", "4"]);
        expect(ids({ before: all[1]?.pos })).toEqual(["1"]);
        expect(ids({ limit: 2 })).toEqual(["1", "2"]);
        expect(ids({ backward: true, limit: 2 })).toEqual(["4", "3"]);
      }),
    );

    test(
      "are cut from one on, and later ones take no old place",
      withStore((store) => {
        store.commit({ rootId: "a", events: ["1", "2", "3"].map((id) => event(id, "a")) });
        const last = store.events("a").at(-1)?.pos ?? 0;
        expect(store.truncate("a", "2")).toBe(2);
        expect(store.truncate("a", "2")).toBe(0);
        store.commit({ rootId: "a", events: [event("4", "a")] });
        expect(idsOf(store, "a")).toEqual(["1", "4"]);
        expect(store.events("a").at(-1)?.pos).toBeGreaterThan(last);
      }),
    );

    test(
      "of a batch that fails are not there, and neither is anything else of it",
      withStore((store) => {
        store.createSession(session("a"));
        const item = { id: "twice", sessionId: "a", json: "{}" };
        expect(() =>
          store.commit({
            rootId: "a",
            events: [event("1", "a")],
            inbox: [{ add: item }, { add: item }],
            documents: [{ kind: "k", key: "x", json: "1" }],
          }),
        ).toThrow(/could not be written/);
        expect(idsOf(store, "a")).toEqual([]);
        expect(store.inbox("a")).toEqual([]);
        expect(store.get("k", "x")).toBeUndefined();
      }),
    );
  });

  describe(`${name}: sessions`, () => {
    test(
      "are listed with the last used first, without child sessions, and filtered",
      withStore((store) => {
        store.createSession(session("old", { updatedAt: 1, branch: "main" }));
        store.createSession(session("new", { updatedAt: 2 }));
        store.createSession(session("child", { rootId: "old", parentId: "old", updatedAt: 3 }));
        expect(store.sessions().map(({ id }) => id)).toEqual(["new", "old"]);
        expect(store.sessions({ branch: "main" }).map(({ id }) => id)).toEqual(["old"]);
        expect(store.children("old").map(({ id }) => id)).toEqual(["child"]);
        store.commit({ rootId: "old", touch: { sessionId: "old", at: 9 } });
        expect(store.sessions().map(({ id }) => id)).toEqual(["old", "new"]);
      }),
    );

    test(
      "keep what they were created with, and only the named parts change",
      withStore((store) => {
        const record = session("a", { gitRoot: "/repo", repository: "o/r", clientName: "me" });
        store.createSession(record);
        expect(store.session("a")).toEqual(record);
        store.updateSession("a", { summary: "about it", userNamed: true });
        expect(store.session("a")).toEqual({ ...record, summary: "about it", userNamed: true });
        expect(store.session("b")).toBeUndefined();
      }),
    );

    test(
      "are deleted with their children, events, inbox and tasks, and nothing of others",
      withStore((store) => {
        for (const id of ["a", "b"]) {
          store.createSession(session(id));
          store.createSession(session(`${id}-child`, { rootId: id, parentId: id }));
          store.commit({
            rootId: id,
            events: [event(`${id}1`, id), event(`${id}2`, `${id}-child`)],
            inbox: [{ add: { id: `${id}-prompt`, sessionId: `${id}-child`, json: "{}" } }],
            documents: [{ kind: "task", key: `${id}/${id}-child`, json: "{}" }],
          });
        }
        expect(store.deleteSession("a")).toBe(true);
        expect(store.deleteSession("a")).toBe(false);
        expect([
          store.session("a"),
          store.session("a-child"),
          idsOf(store, "a"),
          store.inbox("a-child"),
          store.list("task", "a/"),
        ]).toEqual([undefined, undefined, [], [], []]);
        expect([idsOf(store, "b").length, store.inbox("b-child").length, store.list("task", "b/").length]).toEqual([
          2, 1, 1,
        ]);
      }),
    );
  });

  describe(`${name}: inbox and documents`, () => {
    test(
      "an item that leaves and comes back stands at its new place",
      withStore((store) => {
        const item = (id: string) => ({ id, sessionId: "a", json: `{"id":"${id}"}` });
        store.commit({ inbox: [{ add: item("1") }, { add: item("2") }] });
        store.commit({ inbox: [{ remove: "1" }, { add: item("1") }] });
        expect(store.inbox("a").map(({ id }) => id)).toEqual(["2", "1"]);
        expect(store.inbox("b")).toEqual([]);
      }),
    );

    test(
      "documents are found by kind and by the beginning of their key",
      withStore((store) => {
        store.put("task", "a/1", "1");
        store.put("task", "a/1", "2");
        store.put("task", "ab/1", "3");
        store.put("other", "a/1", "4");
        expect(store.get("task", "a/1")).toBe("2");
        expect(store.list("task", "a/")).toEqual([{ key: "a/1", json: "2" }]);
        store.remove("task", "a/1");
        expect(store.get("task", "a/1")).toBeUndefined();
        expect(store.get("other", "a/1")).toBe("4");
      }),
    );
  });
}

export function session(id: string, more: Partial<SessionRecord> = {}): SessionRecord {
  return { id, rootId: id, cwd: "/work", userNamed: false, createdAt: 1, updatedAt: 1, ...more };
}

export function event(id: string, sessionId: string): NewEvent {
  return { id, sessionId, type: "session.info", json: JSON.stringify({ id }) };
}

function idsOf(store: Store, rootId: string): string[] {
  return store.events(rootId).map(({ json }) => JSON.parse(json).id);
}
