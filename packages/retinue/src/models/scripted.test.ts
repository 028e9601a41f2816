import { describe, expect, test } from "vitest";
import type { ModelRequest, Part } from "./provider.ts";
import { call, type ScriptedProvider, say, scripted, think, when } from "./scripted.ts";

const ask = (content: string): ModelRequest => ({
  model: "scripted",
  system: "",
  messages: [{ role: "user", content }],
  tools: [],
  stream: true,
});

async function answer(
  provider: ScriptedProvider,
  prompt = "go",
  signal = new AbortController().signal,
): Promise<Part[]> {
  const parts: Part[] = [];
  for await (const part of provider.stream(ask(prompt), { signal })) parts.push(part);
  return parts;
}

describe("a scripted model", () => {
  test("plays its turns in order and ends each with the reason that fits", async () => {
    const provider = scripted([[think("hm"), call("view", { path: "a" })], [say("done")]]);
    expect(await answer(provider)).toMatchObject([
      { type: "reasoning", delta: "hm" },
      { type: "call", id: "call_1", name: "view", arguments: '{"path":"a"}' },
      { type: "end", reason: "calls" },
    ]);
    expect((await answer(provider)).at(-1)).toMatchObject({ type: "end", reason: "stop" });
    provider.assertSpent();
  });

  test("fails on a request that the script does not expect, and says so again in assertSpent", async () => {
    const provider = scripted([]);
    await expect(answer(provider, "surprise")).rejects.toThrow(/unexpected request 1: .*surprise/);
    expect(() => provider.assertSpent()).toThrow(/unexpected request/);
  });

  test("assertSpent fails while a turn is left", () => {
    expect(() => scripted([[say("never")]]).assertSpent()).toThrow("1 turns were never asked for");
  });

  test("a turn can be made from the request", async () => {
    const provider = scripted([(request) => [say(`${request.messages.length} messages`)]]);
    expect(await answer(provider)).toContainEqual(say("1 messages"));
  });

  test("an error in a script is thrown after the parts before it", async () => {
    const provider = scripted([[say("half"), new Error("cut")], new Error("at once")]);
    const parts: Part[] = [];
    const reading = async () => {
      for await (const part of provider.stream(ask("x"), { signal: new AbortController().signal })) parts.push(part);
    };
    await expect(reading()).rejects.toThrow("cut");
    expect(parts).toEqual([say("half")]);
    await expect(answer(provider)).rejects.toThrow("at once");
  });

  test("a gate holds the answer back until it opens, or until the request is aborted", async () => {
    let open = (_: unknown) => {};
    const gate = new Promise((resolve) => {
      open = resolve;
    });
    const provider = scripted([
      [gate, say("through")],
      [new Promise(() => {}), say("never")],
    ]);
    const first = answer(provider);
    open(undefined);
    expect(await first).toContainEqual(say("through"));

    const stop = new AbortController();
    const second = answer(provider, "go", stop.signal);
    stop.abort(new Error("enough"));
    await expect(second).rejects.toThrow("enough");
  });

  test("turns with a condition are found by the request that they belong to, whatever the order", async () => {
    const provider = scripted([when("left", [say("L")]), when("right", [say("R")])]);
    expect(await answer(provider, "go right")).toContainEqual(say("R"));
    expect(await answer(provider, "go left")).toContainEqual(say("L"));
    provider.assertSpent();
  });
});
