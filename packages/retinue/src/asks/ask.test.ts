import { describe, expect, test } from "vitest";
import { Stop, type StopType } from "../session/stop.ts";
import { ask } from "./ask.ts";
import { ASK_KINDS, isKept, KINDS } from "./kinds.ts";
import { SAMPLES, SmallAsker } from "./test-asker.ts";

describe.each(ASK_KINDS)("an ask of the kind %s", (kind) => {
  const sample = SAMPLES[kind];
  const { requested, completed } = KINDS[kind];

  test("is recorded and committed, then offered, then waits without a slot, then is settled", async () => {
    using world = new SmallAsker();
    const offered = world.offered();
    const answer = world.ask(kind);
    await offered;
    const requestId = world.requestId(kind);
    expect(await world.stored()).toEqual(isKept(kind) ? [requested] : []);
    expect(world.asks.list(kind)).toMatchObject([{ requestId, kind, sessionId: "root", payload: sample.payload }]);
    world.asks.answer(kind, requestId, sample.answer);
    expect(await answer).toEqual(sample.answer);
    await world.small.log.committed();
    expect(world.story).toEqual([requested, "slot given back", "offered", "slot taken", completed]);
    expect(JSON.parse(world.ends(kind)[0]?.json ?? "").data).toEqual({ requestId, ...sample.end });
    expect(await world.stored()).toEqual(isKept(kind) ? [requested, completed] : []);
    expect(world.retracted).toEqual([requestId]);
  });

  test("takes the first answer, and refuses the second as too late", async () => {
    using world = new SmallAsker();
    const offered = world.offered();
    const answer = world.ask(kind);
    await offered;
    const requestId = world.requestId(kind);
    const taken = [sample.answer, sample.another].map((each) => world.asks.answer(kind, requestId, each));
    expect([taken, await answer]).toEqual([[true, false], sample.answer]);
    await world.small.log.committed();
    expect(world.ends(kind)).toHaveLength(1);
  });

  test("can be answered as soon as its event is sent, before it is offered", async () => {
    using world = new SmallAsker();
    world.small.log.listen(([event]) => {
      if (event?.type === requested) world.asks.answer(kind, world.requestId(kind), sample.answer);
    });
    expect(await world.ask(kind)).toEqual(sample.answer);
    await world.small.log.committed();
    expect(world.story).not.toContain("offered");
    expect(world.ends(kind)).toHaveLength(1);
  });

  test("is recorded and never offered when its asker was already stopped", async () => {
    using world = new SmallAsker();
    const signal = AbortSignal.abort(new Stop("abort", "because"));
    await expect(world.ask(kind, { signal })).rejects.toThrow("was withdrawn");
    await world.small.log.committed();
    expect(world.story.filter((each) => each === requested || each === "offered")).toEqual([requested]);
    expect(world.asks.list(kind)).toEqual([]);
  });

  test.each<StopType>(["abort", "interrupt", "cancel", "suspend", "shutdown"])(
    "ends as its row says when its asker is stopped by %s",
    async (type) => {
      using world = new SmallAsker();
      const stop = new AbortController();
      const offered = world.offered();
      const answer = world.ask(kind, { signal: stop.signal });
      await offered;
      const requestId = world.requestId(kind);
      stop.abort(new Stop(type, "because"));
      await expect(answer).rejects.toThrow("was withdrawn");
      await world.small.log.committed();
      expect(world.retracted).toEqual([requestId]);
      expect(world.asks.answer(kind, requestId, sample.answer)).toBe(false);
      const end = sample.stopped[type];
      expect(world.ends(kind).map(({ json }) => JSON.parse(json).data)).toMatchObject(
        end ? [{ requestId, ...end }] : [],
      );
    },
  );

  test("is offered to the others when the client that was asked leaves", async () => {
    using world = new SmallAsker();
    const offered = world.offered();
    const answer = world.ask(kind);
    await offered;
    const requestId = world.requestId(kind);
    world.asks.redeliver();
    expect(world.story.filter((each) => each === "offered")).toHaveLength(2);
    expect(world.retracted).toEqual([]); // Those that have it may still answer.
    world.asks.answer(kind, requestId, sample.answer);
    expect(await answer).toEqual(sample.answer);
    expect(world.retracted).toEqual([requestId]);
  });

  test("is settled at once with the given answer when no one can be asked", async () => {
    using world = new SmallAsker();
    expect(await world.ask(kind, { unattended: sample.answer })).toEqual(sample.answer);
    await world.small.log.committed();
    expect(world.story).toEqual([requested, "slot given back", "slot taken", completed]);
  });

  test("goes on under its old id after a restart, and its event is not sent again", async () => {
    using world = new SmallAsker();
    const offered = world.offered();
    const answer = world.ask(kind, { earlier: { requestId: "old" } });
    await offered;
    world.asks.answer(kind, "old", sample.answer);
    expect(await answer).toEqual(sample.answer);
    await world.small.log.committed();
    expect(world.story).toEqual(["slot given back", "offered", "slot taken", completed]);
  });

  test("answered after a restart before its agent is back is not offered, and has one end", async () => {
    using world = new SmallAsker();
    const earlier = { requestId: "old" };
    world.asks.expect({ ...earlier, kind, sessionId: "root", payload: sample.payload });
    expect(world.asks.answer(kind, "old", sample.answer)).toBe(true);
    expect(await world.ask(kind, { earlier })).toEqual(sample.answer);
    await world.small.log.committed();
    expect(world.story).toEqual(["slot given back", "slot taken", completed]);
    expect(await world.ask(kind, { earlier: { ...earlier, isCompleted: true }, unattended: sample.answer })).toEqual(
      sample.answer,
    );
    await world.small.log.committed();
    expect(world.ends(kind)).toHaveLength(1);
  });
});

describe("what is kept", () => {
  test("a parked permission stays open in the log, and a suspended one is withdrawn there", async () => {
    for (const [type, ends] of [
      ["shutdown", 0],
      ["suspend", 1],
    ] as const) {
      using world = new SmallAsker();
      const stop = new AbortController();
      const offered = world.offered();
      const answer = world.ask("permission", { signal: stop.signal });
      await offered;
      stop.abort(new Stop(type, "because"));
      await expect(answer).rejects.toThrow("was withdrawn");
      await world.small.log.committed();
      expect((await world.stored()).filter((each) => each === "permission.completed")).toHaveLength(ends);
    }
  });

  test("a parked host tool is ended for its clients, and stays open in the log", async () => {
    for (const [type, stored] of [
      ["shutdown", 0],
      ["suspend", 0],
      ["abort", 1],
    ] as const) {
      using world = new SmallAsker();
      const stop = new AbortController();
      const offered = world.offered();
      const answer = world.ask("tool", { signal: stop.signal });
      await offered;
      stop.abort(new Stop(type, "because"));
      await expect(answer).rejects.toThrow("was withdrawn");
      await world.small.log.committed();
      expect(world.ends("tool")).toHaveLength(1);
      expect((await world.stored()).filter((each) => each === "external_tool.completed")).toHaveLength(stored);
    }
  });

  test("the answer to a permission is dropped with its end, and that of a host tool when the call has its result", async () => {
    for (const kind of ["permission", "tool"] as const) {
      using world = new SmallAsker();
      const offered = world.offered();
      const answer = world.ask(kind);
      await offered;
      const requestId = world.requestId(kind);
      world.asks.answer(kind, requestId, SAMPLES[kind].answer);
      await answer;
      await world.small.log.committed();
      expect(await world.kept()).toEqual(kind === "tool" ? [SAMPLES.tool.answer] : []);
      world.asks.settled(requestId);
      await world.small.log.committed();
      expect(await world.kept()).toEqual([]);
    }
  });

  test("a question whose call runs again is stored with its answer until the call has its result", async () => {
    using world = new SmallAsker();
    const place = { sessionId: "root", callId: "c" };
    const offered = world.offered();
    const answer = world.ask("question", { comesAgain: true });
    await offered;
    const requestId = world.requestId("question");
    const kept = async () => (await world.small.store.inbox("root")).map(({ id }) => id);
    expect(await kept()).toEqual([`ask/${requestId}`]);
    world.asks.answer("question", requestId, SAMPLES.question.answer);
    await answer;
    await world.small.log.committed();
    expect(await kept()).toEqual([`ask/${requestId}`, `answer/${requestId}`]);
    world.asks.callEnded({ ...place, callId: "another" });
    world.asks.callEnded(place);
    await world.small.log.committed();
    expect(await kept()).toEqual([]);
  });

  test("a call that asks again after a restart takes over the id and the answer of its ask", async () => {
    using world = new SmallAsker();
    const { payload, answer } = SAMPLES.question;
    const left = {
      requestId: "old",
      kind: "question",
      sessionId: "root",
      callId: "c",
      payload,
      comesAgain: true,
    } as const;
    world.asks.expect(left, { value: answer });
    expect(await world.ask("question", { comesAgain: true })).toEqual(answer);
    await world.small.log.committed();
    expect(world.story).toEqual(["slot given back", "slot taken", "user_input.completed"]);
    expect(world.asks.expected("question", { sessionId: "root", callId: "c" })).toBeUndefined();
  });

  test("the effects of an answer are applied before the answer is recorded", async () => {
    using world = new SmallAsker();
    const offered = world.offered();
    const answer = world.ask("permission", { onAnswer: ({ kind }) => world.story.push(kind) });
    await offered;
    world.asks.answer("permission", world.requestId("permission"), { kind: "approve-once" });
    await answer;
    await world.small.log.committed();
    expect(world.story.slice(-2)).toEqual(["approve-once", "permission.completed"]);
  });
});

test("an ask that the store refuses is not offered, and when its asker is stopped it has an end", async () => {
  using world = new SmallAsker();
  world.small.store.db.exec("PRAGMA query_only = 1");
  const stop = new AbortController();
  const asked = world.ask("permission", { signal: stop.signal });
  await new Promise((resolve) => setImmediate(resolve));
  expect([world.story, world.asks.list("permission")]).toEqual([[], []]);
  stop.abort(new Stop("abort", "user_initiated"));
  await expect(asked).rejects.toThrow(/could not be written/);
  expect(world.asks.answer("permission", "id-1", { kind: "approve-once" })).toBe(false);
  world.small.store.db.exec("PRAGMA query_only = 0");
  await world.small.log.committed();
  expect(world.sent.map(({ type }) => type)).toEqual(["permission.requested", "permission.completed"]);
});

test.each(["permission", "tool", "question", "elicitation"] as const)(
  "a %s of a grandchild says who asks, by id and by name",
  async (kind) => {
    using world = new SmallAsker();
    const child = world.small.child("child-id");
    const grandchild = world.small.child("grandchild-id", child);
    const offered = world.offered();
    const { payload } = SAMPLES[kind];
    const { signal } = new AbortController();
    void ask(world.as(grandchild, ["finder", "reader"]), kind, { payload, callId: "c", signal });
    await offered;
    const { agentId, data } = JSON.parse(world.sent[0]?.json ?? "");
    expect(agentId).toBeUndefined(); // Clients expect asks on the root's stream.
    expect(data).toMatchObject({
      agentId: "grandchild-id",
      agentPath: ["child-id", "grandchild-id"],
      agentPathNames: ["finder", "reader"],
    });
  },
);
