import { describe, expect, test } from "vitest";
import { type Ask, Asks } from "./asks.ts";

const ask = (requestId: string, kind: Ask["kind"] = "permission"): Ask => ({
  requestId,
  kind,
  sessionId: "s",
  payload: {},
});
const never = { signal: new AbortController().signal };

function broker() {
  const kept = new Map<string, unknown>();
  const delivered: string[] = [];
  const retracted: string[] = [];
  const asks = new Asks(
    {
      deliver: ({ requestId }) => {
        delivered.push(requestId);
        return () => retracted.push(requestId);
      },
    },
    { keep: (requestId, answer) => void kept.set(requestId, answer), drop: (requestId) => void kept.delete(requestId) },
  );
  return { asks, kept, delivered, retracted };
}

describe("an ask", () => {
  test("is answered once: the first answer wins, and the second is told so", async () => {
    const { asks } = broker();
    const answer = asks.open(ask("1"), never);
    expect([asks.answer("1", "first"), asks.answer("1", "second"), asks.answer("unknown", "x")]).toEqual([
      true,
      false,
      false,
    ]);
    expect(await answer).toBe("first");
    expect(asks.list()).toEqual([]);
  });

  test("takes no answer of another kind", async () => {
    const { asks } = broker();
    const answer = asks.open(ask("1"), never);
    expect(asks.answer("1", "wrong", "tool")).toBe(false);
    expect(asks.answer("1", "right", "permission")).toBe(true);
    expect(await answer).toBe("right");
  });

  test("ends with its call, and an answer after that is told so", async () => {
    const { asks, retracted } = broker();
    const stop = new AbortController();
    const answer = asks.open(ask("1"), { signal: stop.signal });
    stop.abort();
    await expect(answer).rejects.toThrow("was withdrawn");
    expect([asks.answer("1", "late"), retracted]).toEqual([false, ["1"]]);
    await expect(asks.open(ask("2"), { signal: stop.signal })).rejects.toThrow("was withdrawn");
  });

  test("is offered again to those who come, and taken back from those it was offered to", () => {
    const { asks, delivered, retracted } = broker();
    void asks.open(ask("1"), never);
    asks.redeliver();
    expect([delivered, retracted]).toEqual([["1", "1"], ["1"]]);
  });
});

describe("an answer", () => {
  test("is kept until what follows from it is recorded", async () => {
    const { asks, kept } = broker();
    const answer = asks.open(ask("1", "tool"), never);
    asks.answer("1", { result: "r" });
    expect(kept).toEqual(new Map([["1", { result: "r" }]]));
    await answer;
    asks.settled("1");
    expect(kept.size).toBe(0);
  });

  test("to a question is not kept: a question is asked anew", () => {
    const { asks, kept } = broker();
    void asks.open(ask("1", "question"), never);
    asks.answer("1", { answer: "blue" });
    expect(kept.size).toBe(0);
  });
});

describe("an ask of an earlier process", () => {
  test("can be answered before its agent comes back to it, once", async () => {
    const { asks, kept } = broker();
    asks.expect(ask("1", "tool"));
    expect(asks.list("tool").map(({ requestId }) => requestId)).toEqual(["1"]);
    expect([asks.answer("1", "early", "tool"), asks.answer("1", "again", "tool")]).toEqual([true, false]);
    expect([kept.get("1"), asks.list()]).toEqual(["early", []]);
    expect(await asks.open(ask("1", "tool"), never)).toBe("early");
  });

  test("that was answered there is not asked again", async () => {
    const { asks, delivered } = broker();
    asks.expect(ask("1", "tool"), { value: "taken before" });
    expect(asks.answer("1", "new", "tool")).toBe(false);
    expect(await asks.open(ask("1", "tool"), never)).toBe("taken before");
    expect(delivered).toEqual([]);
  });

  test("is forgotten with its session", () => {
    const { asks } = broker();
    asks.expect(ask("1"));
    asks.forget("s");
    expect([asks.list(), asks.answer("1", "x")]).toEqual([[], false]);
  });
});
