import { describe, expect, test } from "vitest";
import { AskBroker } from "./broker.ts";
import type { Ask } from "./kinds.ts";

const question = (requestId: string): Ask<"question"> => ({
  requestId,
  kind: "question",
  sessionId: "s",
  payload: { question: "Which?" },
});
const tool = (requestId: string): Ask<"tool"> => ({
  requestId,
  kind: "tool",
  sessionId: "s",
  callId: "c",
  payload: { toolCallId: "c", toolName: "probe", arguments: {} },
});
const blue = { answer: "blue", wasFreeform: true };
const red = { answer: "red", wasFreeform: true };
const never = { signal: new AbortController().signal };

function world() {
  const kept = new Map<string, unknown>();
  const delivered: string[] = [];
  const retracted: string[] = [];
  const warnings: string[] = [];
  const asks = new AskBroker({
    answerers: {
      deliver: ({ requestId }) => {
        const again = () => delivered.push(requestId);
        again();
        return { again, retract: () => retracted.push(requestId) };
      },
    },
    keeper: {
      keep: (requestId, answer) => void kept.set(requestId, answer),
      keepAsk: ({ requestId }) => void kept.set(`ask/${requestId}`, "asked"),
      drop: (requestId) => void kept.delete(requestId),
      dropAsk: (requestId) => void kept.delete(`ask/${requestId}`),
    },
    warn: (message) => warnings.push(message),
  });
  return { asks, kept, delivered, retracted, warnings };
}

describe("an ask", () => {
  test("is answered once: the first answer wins, and the second is refused", async () => {
    const { asks } = world();
    const open = asks.open(question("1"), never);
    open.offer();
    expect(asks.list("question")).toEqual([question("1")]);
    const taken = [blue, red].map((answer) => asks.answer("question", "1", answer));
    expect([...taken, asks.answer("question", "unknown", red)]).toEqual([true, false, false]);
    expect(await open.answer()).toEqual(blue);
    expect(asks.list("question")).toEqual([]);
  });

  test("takes no answer of another kind", async () => {
    const { asks } = world();
    const open = asks.open(question("1"), never);
    expect(asks.answer("tool", "1", { result: "wrong" })).toBe(false);
    expect(asks.answer("question", "1", blue)).toBe(true);
    expect(await open.answer()).toEqual(blue);
  });

  test("ends with its call, and a later answer is refused", async () => {
    const { asks, retracted } = world();
    const stop = new AbortController();
    const open = asks.open(question("1"), { signal: stop.signal });
    open.offer();
    stop.abort();
    await expect(open.answer()).rejects.toThrow("was withdrawn");
    expect([asks.answer("question", "1", blue), retracted]).toEqual([false, ["1"]]);
    await expect(asks.open(question("2"), { signal: stop.signal }).answer()).rejects.toThrow("was withdrawn");
  });

  test("is offered again to clients that join, and withdrawn from those it was offered to", () => {
    const { asks, delivered, retracted } = world();
    asks.open(question("1"), never).offer();
    asks.redeliver();
    expect([delivered, retracted]).toEqual([["1", "1"], []]);
  });

  test("that was not offered yet is neither listed nor offered again, and can be answered", async () => {
    const { asks, delivered } = world();
    const open = asks.open(question("1"), never);
    asks.redeliver();
    expect([asks.list("question"), delivered]).toEqual([[], []]);
    expect(asks.answer("question", "1", blue)).toBe(true);
    open.offer();
    expect([await open.answer(), delivered]).toEqual([blue, []]);
  });
});

describe("an answer", () => {
  test("is kept until its consequence is recorded", async () => {
    const { asks, kept } = world();
    const open = asks.open(tool("1"), never);
    asks.answer("tool", "1", { result: "r" });
    expect(kept).toEqual(new Map([["1", { result: "r" }]]));
    await open.answer();
    asks.settled("1");
    expect(kept.size).toBe(0);
  });

  test("to a question is not kept, because a question is asked again", () => {
    const { asks, kept } = world();
    asks.open(question("1"), never);
    asks.answer("question", "1", blue);
    expect(kept.size).toBe(0);
  });
});

describe("an ask of an earlier process", () => {
  test("can be answered before its agent comes back to it, once", async () => {
    const { asks, kept, delivered } = world();
    asks.expect(tool("1"));
    expect(asks.list("tool")).toEqual([tool("1")]);
    const taken = ["early", "again"].map((result) => asks.answer("tool", "1", { result }));
    expect([taken, kept.get("1"), asks.list("tool")]).toEqual([[true, false], { result: "early" }, []]);
    const open = asks.open(tool("1"), never);
    open.offer();
    expect([await open.answer(), delivered]).toEqual([{ result: "early" }, []]);
  });

  test("that was answered in that process is not asked again", async () => {
    const { asks, delivered } = world();
    asks.expect(tool("1"), { value: { result: "taken before" } });
    expect(asks.answer("tool", "1", { result: "new" })).toBe(false);
    const open = asks.open(tool("1"), never);
    open.offer();
    expect([await open.answer(), delivered]).toEqual([{ result: "taken before" }, []]);
  });

  test("whose stored answer cannot be read is open, and the problem is reported", () => {
    const { asks, kept, warnings } = world();
    kept.set("1", { result: 17 });
    asks.expect(tool("1"), { value: { result: 17 } });
    expect([asks.list("tool"), kept.size]).toEqual([[tool("1")], 0]);
    expect(warnings).toEqual(["The stored answer to the tool 1 cannot be read; it is asked for again."]);
    expect(asks.answer("tool", "1", { result: "new" })).toBe(true);
  });

  test("is forgotten with its session", () => {
    const { asks } = world();
    asks.expect(tool("1"));
    asks.forget("s");
    expect([asks.list("tool"), asks.answer("tool", "1", { result: "x" })]).toEqual([[], false]);
  });
});
