import { expect, test } from "vitest";
import { openSqlite } from "../store/sqlite.ts";
import type { Batch } from "../store/store.ts";
import { Log, type LoggedEvent } from "./log.ts";
import { countingWorld, smallSession } from "./small-session.ts";

const info = (message: string) => ({ infoType: "notification", message });

test("an event is told only after it is in the store", () => {
  using small = smallSession();
  const stored: number[] = [];
  small.log.listen(() => stored.push(small.store.countEvents("root")));
  small.session.append("session.mode_changed", { previousMode: "interactive", newMode: "plan" });
  expect(stored).toEqual([]);
  small.log.flush();
  expect(stored).toEqual([1]);
});

test("events of one tick are told together and in order, without anybody asking for it", async () => {
  using small = smallSession();
  const told: string[][] = [];
  small.log.listen((events) => told.push(events.map(({ type }) => type)));
  small.session.append("assistant.turn_start", { turnId: "0" });
  small.session.announce("session.info", info("only now"));
  small.session.append("assistant.turn_end", { turnId: "0" });
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual([["assistant.turn_start", "session.info", "assistant.turn_end"]]);
  expect(small.store.events("root").map(({ type }) => type)).toEqual(["assistant.turn_start", "assistant.turn_end"]);
});

test("each event names the recorded one before it; what is not recorded is no link of the chain", () => {
  using small = smallSession();
  const first = small.session.append("assistant.turn_start", { turnId: "0" });
  small.session.announce("session.info", info("passing"));
  const second = small.session.append("assistant.turn_end", { turnId: "0" });
  expect([first.parentId, second.parentId]).toEqual([null, first.id]);
  expect(small.log.count).toBe(2);
});

test("an event of a child carries its agent's id, and an ask of it does not", () => {
  using small = smallSession();
  const child = small.child("kid");
  const events: LoggedEvent[] = [
    child.append("assistant.turn_start", { turnId: "0" }),
    child.append("external_tool.completed", { requestId: "r" }, { untagged: true }),
  ];
  expect(events.map(({ json }) => JSON.parse(json).agentId)).toEqual(["kid", undefined]);
  small.log.flush();
  expect(small.store.events("root", { sessionId: "kid" })).toHaveLength(2);
});

test("what the store refuses is told to nobody and is there for the next try", async () => {
  using small = smallSession();
  const told: string[] = [];
  small.log.listen((events) => told.push(...events.map(({ type }) => type)));
  small.store.db.exec("PRAGMA query_only = 1");
  small.session.append("assistant.turn_start", { turnId: "0" });
  expect(() => small.log.flush()).toThrow(/could not be written/);
  await new Promise((resolve) => setImmediate(resolve));
  expect(small.failures).toHaveLength(1);
  expect(told).toEqual([]);
  small.store.db.exec("PRAGMA query_only = 0");
  small.log.flush();
  expect(told).toEqual(["assistant.turn_start"]);
  expect(small.store.countEvents("root")).toBe(1);
});

test("of a document that changes twice in one tick the last state is kept", () => {
  using small = smallSession();
  small.log.put("task", "root/1", "first");
  small.log.put("task", "root/1", "second");
  small.log.flush();
  expect(small.store.get("task", "root/1")).toBe("second");
});

test("what recorded events mean for the transcript is in their commit", async () => {
  using small = smallSession();
  const session = { agentId: "default", harness: "retinue", sessionKey: "root" };
  const log = new Log({
    rootId: "root",
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

test("events, prompts and documents of one tick are one commit, and a flush leaves nothing for the tick", async () => {
  const commits: Batch[] = [];
  const kept = openSqlite({ path: ":memory:" });
  const store = {
    ...kept,
    commit: (batch: Batch) => {
      commits.push(batch);
      return kept.commit(batch);
    },
  };
  const log = new Log({ rootId: "root", store, world: countingWorld(), onFailure: () => undefined });
  log.append("assistant.turn_start", { turnId: "0" }, { sessionId: "root" });
  log.addToInbox({ id: "i", sessionId: "root", json: "{}" });
  log.put("task", "root/1", "{}");
  log.append("assistant.turn_end", { turnId: "0" }, { sessionId: "root" });
  expect(commits).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(commits.map(({ events, inbox, documents }) => [events?.length, inbox?.length, documents?.length])).toEqual([
    [2, 1, 1],
  ]);
  log.append("assistant.turn_start", { turnId: "1" }, { sessionId: "root" });
  log.flush();
  await new Promise((resolve) => setImmediate(resolve));
  expect(commits).toHaveLength(2);
  store.close();
});
