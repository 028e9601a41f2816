import { expect, test } from "vitest";
import { answerKeeper, Inbox, type InboxEntry, type Notice, type Prompt, readInbox } from "./inbox.ts";
import { smallSession } from "./small-session.ts";

const prompt = (id: string, change: Partial<Prompt> = {}): Prompt => ({
  kind: "prompt",
  id,
  messageId: `m-${id}`,
  prompt: id,
  ...change,
});
const notice = (id: string): Notice => ({ kind: "notice", id, content: id, cause: { type: "unclassified" } });
const idsOf = (entries: readonly { id: string }[]) => entries.map(({ id }) => id);

function inboxOf(entries: readonly InboxEntry[]) {
  const { session, log, store, [Symbol.dispose]: dispose } = smallSession();
  const { inbox } = session;
  for (const entry of entries) inbox.add(entry);
  /** The inbox that another process would load. */
  const stored = async () => {
    await log.committed();
    return new Inbox({ sessionId: "root", log, stored: readInbox(await store.inbox("root")).entries });
  };
  return { inbox, stored, log, store, [Symbol.dispose]: dispose };
}

test("a run takes prompts one at a time and in order, steering before them, and all notices at once", async () => {
  using world = inboxOf([notice("n1"), prompt("a"), prompt("s", { isSteering: true }), prompt("b"), notice("n2")]);
  const taken = Array.from({ length: 5 }, () => idsOf(world.inbox.takeForRun()));
  expect(taken).toEqual([["s"], ["a"], ["b"], ["n1", "n2"], []]);
  expect(world.inbox.isEmpty).toBe(true);
});

test("a running turn takes steering and notices and leaves the queue alone", async () => {
  using world = inboxOf([notice("n"), prompt("a"), prompt("s", { isSteering: true })]);
  expect(idsOf(world.inbox.takeForTurn())).toEqual(["s", "n"]);
  expect(idsOf(world.inbox.queue)).toEqual(["a"]);
});

test("an item that was taken stays stored until it is delivered", async () => {
  using world = inboxOf([prompt("a"), prompt("b")]);
  const [taken] = world.inbox.takeForRun();
  expect(idsOf((await world.stored()).queue)).toEqual(["a", "b"]);
  if (taken) world.inbox.delivered(taken);
  expect(idsOf((await world.stored()).queue)).toEqual(["b"]);
});

test("a paused queue yields no prompt, and counts as empty", async () => {
  using world = inboxOf([prompt("a")]);
  world.inbox.edits.setPaused(true);
  expect(world.inbox.isEmpty).toBe(true);
  expect(world.inbox.takeForRun()).toEqual([]);
  world.inbox.add(notice("n"));
  expect(world.inbox.isEmpty).toBe(false);
  expect(idsOf(world.inbox.takeForRun())).toEqual(["n"]);
  world.inbox.edits.setPaused(false);
  expect(idsOf(world.inbox.takeForRun())).toEqual(["a"]);
});

test("a changed order is still there after loading", async () => {
  using world = inboxOf([prompt("a"), prompt("b"), prompt("c")]);
  const { inbox, stored } = world;
  inbox.add(prompt("first"), { at: 0 });
  expect(inbox.edits.move("a", 99)).toBe(true);
  expect(inbox.edits.move("a", 3)).toBe(false);
  expect(inbox.edits.move("nobody", 0)).toBe(false);
  expect(idsOf(inbox.queue)).toEqual(["first", "b", "c", "a"]);
  expect(idsOf((await stored()).queue)).toEqual(["first", "b", "c", "a"]);
});

test("a prompt can be changed in place, or turned into steering", async () => {
  using world = inboxOf([prompt("a"), prompt("b")]);
  const { inbox, stored } = world;
  expect(inbox.edits.update("a", { prompt: "new" })).toBe(true);
  expect(inbox.edits.update("b", { isSteering: true })).toBe(true);
  expect(inbox.edits.update("b", { prompt: "too late" })).toBe(false);
  expect((await stored()).queue).toMatchObject([{ id: "a", prompt: "new" }]);
  expect(idsOf((await stored()).steering)).toEqual(["b"]);
});

test("clearing drops prompts and steering, and keeps notices", async () => {
  using world = inboxOf([prompt("a"), prompt("s", { isSteering: true }), notice("n1"), notice("n2")]);
  const { inbox, stored } = world;
  inbox.clear();
  expect([(await stored()).queue, (await stored()).steering]).toEqual([[], []]);
  inbox.removeNotices(({ id }) => id === "n1");
  expect(idsOf((await stored()).notices)).toEqual(["n2"]);
});

test("a prompt can be removed once", async () => {
  using world = inboxOf([prompt("a"), prompt("s", { isSteering: true })]);
  expect(["s", "a", "a"].map((id) => world.inbox.edits.remove(id))).toEqual([true, true, false]);
  expect((await world.stored()).isEmpty).toBe(true);
});

test("an accepted answer is kept beside the prompts until it is dropped, and is not a prompt", async () => {
  using world = inboxOf([prompt("a")]);
  const keeper = answerKeeper(world.log);
  keeper.keep("r1", { kind: "approve-once" });
  expect(idsOf((await world.stored()).queue)).toEqual(["a"]);
  expect(readInbox(await world.store.inbox("root")).answers).toMatchObject([
    { requestId: "r1", answer: { kind: "approve-once" } },
  ]);
  keeper.drop("r1");
  await world.log.committed();
  expect(readInbox(await world.store.inbox("root")).answers).toEqual([]);
});

test("a prompt is received when it is stored, and one that the store refuses never enters", async () => {
  using world = inboxOf([]);
  const receiving = world.inbox.receive([prompt("a"), prompt("b")]);
  expect(world.inbox.isEmpty).toBe(true);
  await receiving;
  expect(idsOf(world.inbox.queue)).toEqual(["a", "b"]);
  world.store.db.exec("PRAGMA query_only = 1");
  await expect(world.inbox.receive([prompt("c")], { at: 0 })).rejects.toThrow(/could not be written/);
  world.store.db.exec("PRAGMA query_only = 0");
  expect(idsOf((await world.stored()).queue)).toEqual(["a", "b"]);
  await world.inbox.receive([prompt("d"), prompt("e")], { at: 1 });
  expect(idsOf(world.inbox.queue)).toEqual(["a", "d", "e", "b"]);
  expect(idsOf((await world.stored()).queue)).toEqual(["a", "d", "e", "b"]);
});

test("a stored item that cannot be read is named, and the others are there", async () => {
  const item = (id: string, change: { version?: number; json?: string }) => ({
    id,
    sessionId: "root",
    version: 1,
    json: JSON.stringify(prompt(id)),
    ...change,
  });
  const { entries, problems } = readInbox([
    item("a", {}),
    item("b", { json: "{" }),
    item("c", { json: '{"kind":"prompt","id":"c"}' }),
    item("d", { version: 2 }),
  ]);
  expect(idsOf(entries)).toEqual(["a"]);
  expect(problems.map(({ message }) => message)).toEqual([
    expect.stringContaining("inbox item b cannot be read"),
    expect.stringContaining("inbox item c cannot be read: messageId"),
    expect.stringContaining("inbox item d cannot be read: it is from a newer version of Retinue (2)"),
  ]);
});
