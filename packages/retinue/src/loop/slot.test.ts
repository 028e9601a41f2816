import { describe, expect, test } from "vitest";
import { Limiter, Slot } from "./slot.ts";

const soon = () => new Promise((resolve) => setImmediate(resolve));

describe("the limiter", () => {
  test("gives out slots in the order in which they were requested", async () => {
    const limiter = new Limiter(1);
    await limiter.take();
    const order: number[] = [];
    for (const n of [1, 2, 3]) void limiter.take().then(() => order.push(n));
    expect(limiter.waiting).toBe(3);
    for (let each = 0; each < 3; each++) {
      limiter.give();
      await soon();
    }
    expect(order).toEqual([1, 2, 3]);
    limiter.give();
    expect(limiter.free).toBe(1);
  });

  test("loses no slot when a waiting agent gives up", async () => {
    const limiter = new Limiter(1);
    await limiter.take();
    const giveUp = new AbortController();
    const gone = limiter.take(giveUp.signal);
    const next = limiter.take();
    giveUp.abort(new Error("no longer"));
    await expect(gone).rejects.toThrow("no longer");
    await expect(limiter.take(giveUp.signal)).rejects.toThrow("no longer");
    limiter.give();
    await next;
    limiter.give();
    expect([limiter.free, limiter.waiting]).toEqual([1, 0]);
  });
});

describe("a slot", () => {
  test("of an agent that does nothing stays free after somebody was asked in its name", async () => {
    const limiter = new Limiter(1);
    const slot = new Slot(limiter);
    await slot.waitingForPerson(async () => "asked");
    expect(limiter.free).toBe(1);
  });

  test("takes one place for everything that its agent does at the same time", async () => {
    const limiter = new Limiter(2);
    const slot = new Slot(limiter);
    await Promise.all([slot.enter(), slot.enter(), slot.enter()]);
    expect(limiter.free).toBe(1);
    slot.leave();
    slot.leave();
    expect(limiter.free).toBe(1);
    slot.leave();
    expect(limiter.free).toBe(2);
    slot.leave();
    expect(limiter.free).toBe(2);
  });

  test("gives its place back only while its agent does nothing but wait", async () => {
    const limiter = new Limiter(1);
    const slot = new Slot(limiter);
    let answer: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await Promise.all([slot.enter(), slot.enter()]);
    const waiting = slot.waiting(() => asked);
    expect(limiter.free).toBe(0);
    slot.leave();
    expect(limiter.free).toBe(1);
    answer();
    await waiting;
    expect(limiter.free).toBe(0);
    slot.leave();
    expect(limiter.free).toBe(1);
  });

  test("one place is enough for a chain in which each waits for the next", async () => {
    const limiter = new Limiter(1);
    const work = async (depth: number): Promise<number> => {
      const slot = new Slot(limiter);
      await slot.enter();
      try {
        return depth === 0 ? 0 : 1 + (await slot.waiting(() => work(depth - 1)));
      } finally {
        slot.leave();
      }
    };
    expect(await work(50)).toBe(50);
    expect([limiter.free, limiter.waiting]).toEqual([1, 0]);
  });

  test("does not queue for a place again when its agent was stopped while waiting", async () => {
    const limiter = new Limiter(1);
    const slot = new Slot(limiter);
    const stop = new AbortController();
    await slot.enter(stop.signal);
    const waiting = slot.waiting(() => Promise.reject(new Error("withdrawn")), stop.signal);
    stop.abort();
    await limiter.take();
    await expect(waiting).rejects.toThrow("withdrawn");
    slot.leave();
    limiter.give();
    expect([limiter.free, limiter.waiting]).toEqual([1, 0]);
  });

  test("without a limiter, as for the main agent, never waits", async () => {
    const slot = new Slot();
    await slot.enter();
    expect(await slot.waiting(async () => "at once")).toBe("at once");
    slot.leave();
  });
});
