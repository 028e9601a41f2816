/** What every store must do. Each implementation runs this suite with a function that opens an empty store. */
import { describe, expect, test } from "vitest";
import type { Batch, EventQuery, Holder, InboxItem, Lease, NewEvent, SessionRecord, Store } from "./store.ts";

/** `isAlive` says which holders are alive; without it all are. */
export type OpenStore = (isAlive?: (holder: Holder) => boolean) => Store;

const HERE: Holder = { pid: 1, startedAt: 10 };
const ELSEWHERE: Holder = { pid: 2, startedAt: 20 };

export function storeContract(name: string, open: OpenStore): void {
  const withStore = (work: (store: Store) => Promise<void>) => async () => {
    const store = open();
    try {
      await work(store);
    } finally {
      await store.close();
    }
  };

  describe(`${name}: events`, () => {
    test(
      "of one tree are read in the order in which they were committed",
      withStore(async (store) => {
        const [a, b] = [await begin(store, "a"), await begin(store, "b")];
        await store.commit({ ...a, events: [event("1", "a"), event("2", "child")] });
        await store.commit({ ...b, events: [event("3", "b")] });
        await store.commit({ ...a, events: [event("4", "a")] });
        expect(await idsOf(store, "a")).toEqual(["1", "2", "4"]);
        expect(await store.events.count("a")).toBe(3);
        expect(await store.events.size("a")).toBe(3 * '{"id":"1"}'.length);
        const positions = (await store.events.read("a")).map(({ pos }) => pos);
        expect(positions).toEqual(positions.toSorted((x, y) => x - y));
      }),
    );

    test(
      "can be read by session, from or up to a position, with a limit and backward",
      withStore(async (store) => {
        const a = await begin(store, "a");
        const events = ["1", "2", "3", "4"].map((id) => event(id, id === "3" ? "child" : "a"));
        await store.commit({ ...a, events });
        const all = await store.events.read("a");
        const ids = (query: EventQuery) => idsOf(store, "a", query);
        expect(await ids({ sessionId: "child" })).toEqual(["3"]);
        expect(await ids({ after: all[1]?.pos })).toEqual(["3", "4"]);
        expect(await ids({ before: all[1]?.pos })).toEqual(["1"]);
        expect(await ids({ limit: 2 })).toEqual(["1", "2"]);
        expect(await ids({ backward: true, limit: 2 })).toEqual(["4", "3"]);
      }),
    );

    test(
      "are cut from one event on, and later ones reuse no position",
      withStore(async (store) => {
        const a = await begin(store, "a");
        await store.commit({ ...a, events: ["1", "2", "3"].map((id) => event(id, "a")) });
        const last = (await store.events.read("a")).at(-1)?.pos ?? 0;
        await store.commit({ ...a, cutFrom: "2" });
        await store.commit({ ...a, cutFrom: "2", events: [event("4", "a")] });
        expect(await idsOf(store, "a")).toEqual(["1", "4"]);
        expect((await store.events.read("a")).at(-1)?.pos).toBeGreaterThan(last);
      }),
    );

    test(
      "of a batch that fails are not stored, and neither is anything else of it",
      withStore(async (store) => {
        const a = await begin(store, "a");
        const batch: Batch = {
          ...a,
          at: 99,
          created: [session("kid", { rootId: "a", parentId: "a" })],
          changed: { name: "new" },
          events: [event("1", "a")],
          inbox: [{ add: item("twice") }, { add: item("twice") }],
          documents: [{ put: document("k", "x", "1") }],
        };
        await expect(store.commit(batch)).rejects.toThrow(/could not be written/);
        expect(await idsOf(store, "a")).toEqual([]);
        expect(await store.inbox("a")).toEqual([]);
        expect(await store.documents.get("k", "x")).toBeUndefined();
        expect(await store.sessions.get("a")).toEqual(session("a"));
        expect(await store.sessions.get("kid")).toBeUndefined();
        await store.commit({ ...batch, inbox: [{ add: item("twice") }] });
        expect([await idsOf(store, "a"), (await store.sessions.get("a"))?.name]).toEqual([["1"], "new"]);
      }),
    );
  });

  describe(`${name}: sessions`, () => {
    test(
      "are listed with the last used first, without child sessions, and can be filtered",
      withStore(async (store) => {
        const old = await begin(store, "old", { updatedAt: 1, branch: "main" });
        await begin(store, "new", { updatedAt: 2 });
        await store.commit({ ...old, created: [session("child", { rootId: "old", parentId: "old", updatedAt: 3 })] });
        const listed = async (filter?: { branch: string }) => (await store.sessions.list(filter)).map(({ id }) => id);
        expect(await listed()).toEqual(["new", "old"]);
        expect(await listed({ branch: "main" })).toEqual(["old"]);
        expect((await store.sessions.children("old")).map(({ id }) => id)).toEqual(["child"]);
        await store.commit({ ...old, at: 9 });
        expect(await listed()).toEqual(["old", "new"]);
      }),
    );

    test(
      "keep the values they were created with, and only the named fields change",
      withStore(async (store) => {
        const record = session("a", { gitRoot: "/repo", repository: "o/r", clientName: "me" });
        const a = await begin(store, "a", record);
        expect(await store.sessions.get("a")).toEqual(record);
        await store.commit({ ...a, changed: { summary: "about it", userNamed: true, name: undefined } });
        expect(await store.sessions.get("a")).toEqual({ ...record, summary: "about it", userNamed: true });
        expect(await store.sessions.get("b")).toBeUndefined();
      }),
    );

    test(
      "that exist already stay unchanged when a batch creates them again",
      withStore(async (store) => {
        const a = await begin(store, "a");
        const kid = session("kid", { rootId: "a", parentId: "a", name: "first" });
        await store.commit({ ...a, created: [kid] });
        await store.commit({ ...a, created: [{ ...kid, name: "again" }] });
        expect(await store.sessions.get("kid")).toEqual(kid);
      }),
    );

    test(
      "are deleted with their children, events, inbox and documents, and nothing else",
      withStore(async (store) => {
        const leases = new Map<string, Lease>();
        for (const id of ["a", "ab"]) {
          const batch = await begin(store, id);
          leases.set(id, batch.lease);
          await store.commit({
            ...batch,
            created: [session(`${id}-child`, { rootId: id, parentId: id })],
            events: [event(`${id}1`, id), event(`${id}2`, `${id}-child`)],
            inbox: [{ add: item(`${id}-prompt`, `${id}-child`) }],
            documents: [document("task", `${id}/1`), document("notes", id), document("other", id)].map((put) => ({
              put,
            })),
          });
        }
        const lease = leases.get("a") ?? { rootId: "a", number: 0 };
        expect(await store.sessions.delete(lease, { kinds: ["task", "notes"] })).toBe(true);
        await expect(store.sessions.delete(lease, { kinds: [] })).rejects.toThrow(/no longer written from here/);
        expect([
          await store.sessions.get("a"),
          await store.sessions.get("a-child"),
          await idsOf(store, "a"),
          await store.inbox("a-child"),
          await store.documents.list("task", "a/"),
          await store.documents.get("notes", "a"),
          await store.leases.holder("a"),
        ]).toEqual([undefined, undefined, [], [], [], undefined, undefined]);
        expect(await store.documents.get("other", "a")).toBeDefined();
        expect([
          (await idsOf(store, "ab")).length,
          (await store.inbox("ab-child")).length,
          (await store.documents.list("task", "ab/")).length,
          await store.documents.get("notes", "ab"),
        ]).toEqual([2, 1, 1, document("notes", "ab")]);
      }),
    );

    test(
      "of a tree are removed one by one with their inbox, and only its own children",
      withStore(async (store) => {
        const a = await begin(store, "a");
        await begin(store, "b");
        const kids = ["one", "two"].map((id) => session(id, { rootId: "a", parentId: "a" }));
        await store.commit({ ...a, created: kids, inbox: [{ add: item("i", "one") }] });
        await store.commit({ ...a, deleted: ["one", "b", "a"] });
        const left = await Promise.all(["one", "two", "a", "b"].map((id) => store.sessions.get(id)));
        expect(left.map((each) => each?.id)).toEqual([undefined, "two", "a", "b"]);
        expect(await store.inbox("one")).toEqual([]);
      }),
    );
  });

  describe(`${name}: a lease`, () => {
    test(
      "belongs to one living process, and others get its holder",
      withStore(async (store) => {
        await acquired(store, "a", HERE);
        expect(await store.leases.acquire("a", ELSEWHERE)).toEqual({ heldBy: HERE });
        expect(await store.leases.holder("a")).toEqual(HERE);
      }),
    );

    test("of a dead process is free", async () => {
      const store = open((holder) => holder.pid !== HERE.pid);
      await acquired(store, "a", HERE);
      expect(await store.leases.holder("a")).toBeUndefined();
      await acquired(store, "a", ELSEWHERE);
      expect(await store.leases.holder("a")).toEqual(ELSEWHERE);
      await store.close();
    });

    test(
      "has a number that grows with every acquisition and never comes again, also after a deletion",
      withStore(async (store) => {
        const first = await begin(store, "a");
        const again = await acquired(store, "a", HERE);
        await store.leases.release(again);
        const third = await acquired(store, "a", ELSEWHERE);
        await store.sessions.delete(third, { kinds: [] });
        const last = await acquired(store, "a", HERE);
        const numbers = [first.lease, again, third, last].map(({ number }) => number);
        expect(numbers).toEqual([...new Set(numbers)].toSorted((x, y) => x - y));
      }),
    );

    test(
      "that another holder has taken since lets nothing of any kind through, ever",
      withStore(async (store) => {
        const stale = await begin(store, "a");
        await store.leases.release(stale.lease);
        const present = { ...stale, lease: await acquired(store, "a", ELSEWHERE) };
        await store.commit({ ...present, events: [event("1", "a")] });
        const attempts: Partial<Batch>[] = [
          {},
          { events: [event("2", "a")] },
          { changed: { name: "stolen" } },
          { cutFrom: "1" },
          { created: [session("kid", { rootId: "a", parentId: "a" })] },
          { inbox: [{ add: item("i") }] },
          { documents: [{ put: document("k", "x") }] },
        ];
        for (const attempt of attempts)
          await expect(store.commit({ ...stale, ...attempt })).rejects.toMatchObject({ code: "lease_lost" });
        await expect(store.sessions.delete(stale.lease, { kinds: [] })).rejects.toMatchObject({ code: "lease_lost" });
        await store.leases.release(stale.lease);
        expect(await store.leases.holder("a")).toEqual(ELSEWHERE);
        await store.commit({ ...present, events: [event("3", "a")] });
        expect(await idsOf(store, "a")).toEqual(["1", "3"]);
        expect([await store.sessions.get("kid"), await store.inbox("a"), await store.documents.get("k", "x")]).toEqual([
          undefined,
          [],
          undefined,
        ]);
      }),
    );

    test(
      "that was released lets nothing through",
      withStore(async (store) => {
        const a = await begin(store, "a");
        await store.leases.release(a.lease);
        await expect(store.commit({ ...a, events: [event("1", "a")] })).rejects.toMatchObject({ code: "lease_lost" });
        expect(await idsOf(store, "a")).toEqual([]);
      }),
    );

    test(
      "of a deleted session lets nothing through, even when its id is in use again",
      withStore(async (store) => {
        const a = await begin(store, "a");
        await store.sessions.delete(a.lease, { kinds: [] });
        const late = { ...a, created: [session("a")], events: [event("1", "a")] };
        await expect(store.commit(late)).rejects.toMatchObject({ code: "lease_lost" });
        await begin(store, "a");
        await expect(store.commit(late)).rejects.toMatchObject({ code: "lease_lost" });
        expect(await idsOf(store, "a")).toEqual([]);
      }),
    );

    test(
      "is for one session: another cannot be written with it",
      withStore(async (store) => {
        const a = await begin(store, "a");
        await begin(store, "b");
        const crossed = { ...a, lease: { ...a.lease, rootId: "b" } };
        await expect(store.commit(crossed)).rejects.toMatchObject({ code: "lease_lost" });
      }),
    );
  });

  describe(`${name}: inbox and documents`, () => {
    test(
      "an item that is removed and added again is at its new position",
      withStore(async (store) => {
        const a = await begin(store, "a");
        await store.commit({ ...a, inbox: [{ add: item("1") }, { add: item("2") }] });
        await store.commit({ ...a, inbox: [{ remove: item("1") }, { add: item("1") }] });
        expect(await store.inbox("a")).toEqual([item("2"), item("1")]);
        expect(await store.inbox("b")).toEqual([]);
      }),
    );

    test(
      "documents are found by kind and by the beginning of their key, with their version",
      withStore(async (store) => {
        const put = (kind: string, key: string, json: string) => ({ put: document(kind, key, json) });
        await store.documents.write([put("task", "a/1", "1"), put("task", "a/1", "2"), put("task", "ab/1", "3")]);
        await store.documents.write([put("other", "a/1", "4")]);
        expect(await store.documents.get("task", "a/1")).toEqual(document("task", "a/1", "2"));
        expect(await store.documents.list("task", "a/")).toEqual([document("task", "a/1", "2")]);
        await store.documents.write([{ remove: { kind: "task", key: "a/1" } }]);
        expect(await store.documents.get("task", "a/1")).toBeUndefined();
        expect((await store.documents.get("other", "a/1"))?.json).toBe("4");
      }),
    );
  });
}

/** A new session and its lease: what every batch needs. */
export async function begin(
  store: Store,
  id: string,
  more: Partial<SessionRecord> = {},
): Promise<{ lease: Lease; at: number }> {
  const record = session(id, more);
  const batch = { lease: await acquired(store, id, HERE), at: record.updatedAt };
  await store.commit({ ...batch, created: [record] });
  return batch;
}

export function session(id: string, more: Partial<SessionRecord> = {}): SessionRecord {
  return { id, rootId: id, cwd: "/work", userNamed: false, createdAt: 1, updatedAt: 1, ...more };
}

export function event(id: string, sessionId: string): NewEvent {
  const data = { infoType: "notification", message: id };
  return { id, sessionId, type: "session.info", timestamp: "", data, json: JSON.stringify({ id }) };
}

async function acquired(store: Store, rootId: string, holder: Holder): Promise<Lease> {
  const answer = await store.leases.acquire(rootId, holder);
  if ("heldBy" in answer) throw new Error(`${rootId} is held by ${answer.heldBy.pid}`);
  return answer.lease;
}

function item(id: string, sessionId = "a"): InboxItem {
  return { id, sessionId, version: 3, json: `{"id":"${id}"}` };
}

function document(kind: string, key: string, json = "{}") {
  return { kind, key, version: 7, json };
}

async function idsOf(store: Store, rootId: string, query?: EventQuery): Promise<string[]> {
  return (await store.events.read(rootId, query)).map(({ json }) => JSON.parse(json).id);
}
