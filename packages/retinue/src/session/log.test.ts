import { AppError } from "@retinue/protocol";
import { expect, test } from "vitest";
import { thisProcess } from "../store/holder.ts";
import type { Batch } from "../store/store.ts";
import { Log, type LoggedEvent } from "./log.ts";
import { countingWorld, smallSession, smallStore } from "./small-session.ts";

const info = (message: string) => ({ infoType: "notification", message });
const tick = () => new Promise((resolve) => setImmediate(resolve));

/** A log on a remote store: each commit waits until the test lets it through or refuses it. */
function farLog() {
  const { store, lease } = smallStore();
  const waiting: { batch: Batch; settle(isRefused: boolean): void }[] = [];
  const failures: string[] = [];
  const received: string[] = [];
  const log = new Log({
    lease,
    world: countingWorld(),
    onFailure: ({ message }) => failures.push(message),
    store: {
      commit: async (batch) => {
        const isRefused = await new Promise<boolean>((settle) => waiting.push({ batch, settle }));
        if (isRefused) throw new AppError("store_unavailable", "no connection");
        await store.commit(batch);
      },
    },
  });
  log.listen((events) => received.push(...events.map(messageOf)));
  return {
    log,
    store,
    waiting,
    failures,
    received,
    say: (message: string) => log.append("session.error", { errorType: "x", message }, { sessionId: "root" }),
    /** The messages of the commit that is under way. */
    underWay: () => waiting.map(({ batch }) => (batch.events ?? []).map(messageOf)),
    async letThrough() {
      waiting.shift()?.settle(false);
      await tick();
    },
    async refuse() {
      waiting.shift()?.settle(true);
      await tick();
    },
    stored: async () => (await store.events.read("root")).map(({ json }) => messageOf(JSON.parse(json))),
    [Symbol.dispose]: () => store.db.close(),
  };
}

function messageOf({ data }: { data: object }): string {
  return "message" in data ? String(data.message) : "";
}

/** Whether a promise is pending, committed or rejected. */
function watch(promise: Promise<void>): { outcome: string } {
  const seen = { outcome: "pending" };
  promise.then(
    () => (seen.outcome = "committed"),
    (error: unknown) => (seen.outcome = error instanceof Error ? error.message : String(error)),
  );
  return seen;
}

test("listeners get an event only after it is in the store", async () => {
  using small = smallSession();
  const stored: Promise<number>[] = [];
  small.log.listen(() => stored.push(small.store.events.count("root")));
  small.session.append("session.mode_changed", { previousMode: "interactive", newMode: "plan" });
  expect(stored).toEqual([]);
  await small.log.committed();
  expect(await Promise.all(stored)).toEqual([1]);
});

test("listeners get the events of one tick together and in order, without a barrier", async () => {
  using small = smallSession();
  const received: string[][] = [];
  small.log.listen((events) => received.push(events.map(({ type }) => type)));
  small.session.append("assistant.turn_start", { turnId: "0" });
  small.session.announce("session.info", info("only now"));
  small.session.append("assistant.turn_end", { turnId: "0" });
  await tick();
  expect(received).toEqual([["assistant.turn_start", "session.info", "assistant.turn_end"]]);
  const stored = await small.store.events.read("root");
  expect(stored.map(({ type }) => type)).toEqual(["assistant.turn_start", "assistant.turn_end"]);
});

test("each event names the recorded one before it; ephemeral events are not part of the chain", () => {
  using small = smallSession();
  const first = small.session.append("assistant.turn_start", { turnId: "0" });
  small.session.announce("session.info", info("passing"));
  const second = small.session.append("assistant.turn_end", { turnId: "0" });
  expect([first.parentId, second.parentId]).toEqual([null, first.id]);
  expect(small.log.count).toBe(2);
});

test("an event of a child carries its agent's id, and its asks do not", async () => {
  using small = smallSession();
  const child = small.child("kid");
  const events: LoggedEvent[] = [
    child.append("assistant.turn_start", { turnId: "0" }),
    child.append("external_tool.completed", { requestId: "r" }, { untagged: true }),
  ];
  expect(events.map(({ json }) => JSON.parse(json).agentId)).toEqual(["kid", undefined]);
  await small.log.committed();
  expect(await small.store.events.read("root", { sessionId: "kid" })).toHaveLength(2);
});

test("events, prompts, documents and sessions of one tick are one commit, and after a barrier nothing is left for the tick", async () => {
  const commits: Batch[] = [];
  const { store: kept, lease } = smallStore();
  const store = {
    ...kept,
    commit: (batch: Batch) => {
      commits.push(batch);
      return kept.commit(batch);
    },
  };
  const log = new Log({ lease, store, world: countingWorld(), onFailure: () => undefined });
  const document = (json: string) => ({ put: { kind: "task", key: "root/1", version: 1, json } });
  log.append("assistant.turn_start", { turnId: "0" }, { sessionId: "root" });
  log.changeInbox({ add: { id: "i", sessionId: "root", version: 1, json: "{}" } });
  log.changeDocument(document("first"));
  log.changeDocument(document("second"));
  log.create({ id: "kid", rootId: "root", parentId: "root", cwd: "/", userNamed: false, createdAt: 0, updatedAt: 0 });
  log.describe({ name: "a name" });
  log.describe({ summary: "what it is about" });
  log.append("assistant.turn_end", { turnId: "0" }, { sessionId: "root" });
  expect(commits).toEqual([]);
  await tick();
  expect(commits.map(({ events, inbox, documents }) => [events?.length, inbox?.length, documents])).toEqual([
    [2, 1, [document("second")]],
  ]);
  expect((await store.sessions.children("root")).map(({ id }) => id)).toEqual(["kid"]);
  expect(await store.sessions.get("root")).toMatchObject({ name: "a name", summary: "what it is about" });
  log.append("assistant.turn_start", { turnId: "1" }, { sessionId: "root" });
  await log.committed();
  await tick();
  expect(commits).toHaveLength(2);
  await store.close();
});

test("the title of a session is stored in its row with the event that sets it", async () => {
  using small = smallSession();
  small.session.append("user.message", { content: "Mend the lock\nplease" });
  await small.log.committed();
  expect(await small.store.sessions.get("root")).toMatchObject({ name: "Mend the lock", summary: "Mend the lock" });
});

test("a barrier starts a commit at once and waits for it; with nothing to commit it resolves", async () => {
  using far = farLog();
  await far.log.committed();
  far.say("one");
  const barrier = watch(far.log.committed());
  expect(far.underWay()).toEqual([["one"]]);
  await tick();
  expect([barrier.outcome, far.received]).toEqual(["pending", []]);
  await far.letThrough();
  expect([barrier.outcome, far.received]).toEqual(["committed", ["one"]]);
});

test("there is one commit at a time, and what is appended meanwhile goes into the next", async () => {
  using far = farLog();
  far.say("one");
  const first = watch(far.log.committed());
  far.say("two");
  const second = watch(far.log.committed());
  await tick();
  far.say("three");
  const third = watch(far.log.committed());
  expect(far.underWay()).toEqual([["one"]]);
  await far.letThrough();
  expect([first.outcome, second.outcome, third.outcome]).toEqual(["committed", "pending", "pending"]);
  expect(far.underWay()).toEqual([["two", "three"]]);
  await far.letThrough();
  expect([second.outcome, third.outcome]).toEqual(["committed", "committed"]);
  expect(far.received).toEqual(["one", "two", "three"]);
  expect(await far.stored()).toEqual(["one", "two", "three"]);
  expect(far.underWay()).toEqual([]);
});

test("a barrier during a commit waits for it, even when nothing was appended since", async () => {
  using far = farLog();
  far.say("one");
  await tick();
  const barrier = watch(far.log.committed());
  await tick();
  expect(barrier.outcome).toBe("pending");
  await far.letThrough();
  expect(barrier.outcome).toBe("committed");
});

test("ephemeral events wait for the commit before them, so that the order is kept", async () => {
  using far = farLog();
  far.say("kept");
  await tick();
  far.log.append("session.info", info("passing"), { sessionId: "root", ephemeral: true });
  await tick();
  expect(far.received).toEqual([]);
  await far.letThrough();
  expect(far.received).toEqual(["kept", "passing"]);
  expect(far.waiting).toEqual([]);
});

test("listeners do not get events that the store refuses, and the next try commits all of them in order", async () => {
  using far = farLog();
  far.say("one");
  const first = watch(far.log.committed());
  far.say("two");
  const second = watch(far.log.committed());
  await far.refuse();
  expect([first.outcome, second.outcome, far.received]).toEqual(["no connection", "pending", []]);
  expect(far.underWay()).toEqual([["one", "two"]]);
  await far.refuse();
  expect([second.outcome, far.received, await far.stored()]).toEqual(["no connection", [], []]);
  far.say("three");
  await tick();
  expect(far.underWay()).toEqual([]); // A store that refuses is not tried with every event.
  void far.log.committed();
  expect(far.underWay()).toEqual([["one", "two", "three"]]);
  await far.letThrough();
  expect(far.received).toEqual(["one", "two", "three"]);
  expect(await far.stored()).toEqual(["one", "two", "three"]);
});

test("a refused commit that no barrier waits for is reported", async () => {
  using far = farLog();
  far.say("one");
  await tick();
  await far.refuse();
  expect(far.failures).toEqual(["no connection"]);
  far.say("two");
  void far.log.committed();
  await far.letThrough();
  expect([far.failures.length, far.received]).toEqual([1, ["one", "two"]]);
});

test("a store that refuses is tried again by itself, reported once, and work that must be recorded waits for it", async () => {
  using far = farLog();
  far.say("one");
  const work = watch(far.log.recorded());
  await far.refuse();
  for (let tries = 0; tries < 3; tries++) {
    await expect.poll(() => far.underWay()).toEqual([["one"]]);
    await far.refuse();
  }
  expect([work.outcome, far.failures]).toEqual(["pending", ["no connection"]]);
  await expect.poll(() => far.underWay()).toEqual([["one"]]);
  await far.letThrough();
  expect([work.outcome, far.received, await far.stored()]).toEqual(["committed", ["one"], ["one"]]);
});

test("work that waits for the store is let go when it is stopped, and when the log is closed", async () => {
  using far = farLog();
  far.say("one");
  const stop = new AbortController();
  const stopped = watch(far.log.recorded({ signal: stop.signal }));
  const closed = watch(far.log.recorded());
  await far.refuse();
  expect([stopped.outcome, closed.outcome]).toEqual(["pending", "pending"]);
  stop.abort();
  await tick();
  expect([stopped.outcome, closed.outcome]).toEqual(["no connection", "pending"]);
  far.log.close();
  await tick();
  expect(closed.outcome).toMatch(/closed before the store could be written/);
  const last = watch(far.log.committed());
  await far.letThrough();
  expect([last.outcome, await far.stored()]).toEqual(["committed", ["one"]]);
});

test("a log that is discarded writes nothing any more", async () => {
  using far = farLog();
  far.say("one");
  await tick();
  await far.refuse();
  far.log.close({ discard: true });
  far.say("two");
  await far.log.committed();
  expect([far.underWay(), await far.stored()]).toEqual([[], []]);
});

test("a listener may append and wait: every listener gets every event once, in order", async () => {
  using far = farLog();
  const late: string[] = [];
  let barrier = { outcome: "none" };
  const stop = far.log.listen(() => {
    stop();
    far.say("answer");
    barrier = watch(far.log.committed());
  });
  far.log.listen((events) => late.push(...events.map(messageOf)));
  far.say("question");
  const first = watch(far.log.committed());
  await far.letThrough();
  expect([first.outcome, barrier.outcome, far.underWay()]).toEqual(["committed", "pending", [["answer"]]]);
  await far.letThrough();
  expect(barrier.outcome).toBe("committed");
  expect([far.received, late]).toEqual([
    ["question", "answer"],
    ["question", "answer"],
  ]);
});

test("a listener that throws is reported, and the others still get the event", async () => {
  using small = smallSession();
  const received: string[] = [];
  small.log.listen(() => {
    throw new Error("broken listener");
  });
  small.log.listen((events) => received.push(...events.map(({ type }) => type)));
  small.session.append("assistant.turn_start", { turnId: "0" });
  await small.log.committed();
  expect([received, small.failures]).toEqual([["assistant.turn_start"], ["broken listener"]]);
});

test("a cut waits for the current commit, removes the tail and what belongs to it, and the chain goes on from the rest", async () => {
  using far = farLog();
  const [one, two] = [far.say("one"), far.say("two")];
  const cut = watch(far.log.cut({ from: two.id, lastId: one.id, count: 1, deleted: ["kid"] }));
  await far.letThrough();
  expect(far.waiting.map(({ batch }) => [batch.cutFrom, batch.deleted])).toEqual([[two.id, ["kid"]]]);
  await far.letThrough();
  expect([cut.outcome, far.log.count]).toEqual(["committed", 1]);
  expect(far.say("three").parentId).toBe(one.id);
  await tick();
  await far.letThrough();
  expect(await far.stored()).toEqual(["one", "three"]);
});

test("a cut that the store refuses leaves the log unchanged", async () => {
  using far = farLog();
  const [one, two] = [far.say("one"), far.say("two")];
  await tick();
  await far.letThrough();
  const cut = watch(far.log.cut({ from: two.id, lastId: one.id, count: 1 }));
  await tick();
  await far.refuse();
  expect([cut.outcome, far.log.count]).toEqual(["no connection", 2]);
  far.say("three");
  await tick();
  await far.letThrough();
  expect(await far.stored()).toEqual(["one", "two", "three"]);
});

test("a writer that lost its lease can commit nothing, and each try rejects", async () => {
  using small = smallSession();
  const received: string[] = [];
  small.log.listen((events) => received.push(...events.map(({ type }) => type)));
  await small.store.leases.acquire("root", thisProcess());
  small.session.append("assistant.turn_start", { turnId: "0" });
  await expect(small.log.committed()).rejects.toMatchObject({ code: "lease_lost" });
  await expect(small.log.committed()).rejects.toMatchObject({ code: "lease_lost" });
  expect([received, await small.store.events.count("root")]).toEqual([[], 0]);
});

test("the transcript changes of recorded events are in the same commit", async () => {
  using small = smallSession();
  const session = { agentId: "default", harness: "retinue", sessionKey: "root" };
  const log = new Log({
    lease: small.lease,
    store: small.store,
    world: countingWorld(),
    onFailure: () => undefined,
    fold: (events) => events.map(({ type }) => ({ type: "titled", session, at: 1, title: `${events.length} ${type}` })),
  });
  log.append("session.info", info("passing"), { sessionId: "root", ephemeral: true });
  log.append("assistant.turn_start", { turnId: "0" }, { sessionId: "root" });
  await log.committed();
  const { session: kept } = await small.store.transcripts.sessions.resolve(session);
  expect(kept?.title).toBe("1 assistant.turn_start");
});

test("an inbox item that is removed before it was written is never written, and one that was written is removed", async () => {
  using world = farLog();
  const { log } = world;
  const item = { id: "i", sessionId: "root", version: 1, json: "{}" };
  log.changeInbox({ add: item });
  const kept = log.committed();
  await world.letThrough();
  await kept;
  log.changeInbox({ remove: item });
  log.changeInbox({ add: { ...item, json: "2" } });
  log.changeInbox({ remove: item });
  log.changeInbox({ add: { ...item, id: "j" } });
  log.changeInbox({ remove: { ...item, id: "j" } });
  const gone = log.committed();
  expect(world.waiting.map(({ batch }) => batch.inbox)).toEqual([[{ remove: item }]]);
  await world.letThrough();
  await gone;
  expect(await world.store.inbox("root")).toEqual([]);
});
