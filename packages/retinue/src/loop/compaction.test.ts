import type { ParamsInput } from "@retinue/protocol";
import { expect, test } from "vitest";
import { type Message, ModelError, NO_USAGE } from "../models/provider.ts";
import { call, type Step, say, type Turn } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import { type Agent, toolset } from "./agent.ts";
import { compact, compactIfNeeded } from "./compaction.ts";

/** In tokens of the model's 128,000: where the history is summarised, and where its oldest messages are dropped. */
type Thresholds = { start: number; drop: number };

async function withAgent(
  { start, drop }: Thresholds,
  turns: readonly Turn[],
  test: (world: SmallWorld & { agent: Agent; input: Parameters<typeof compactIfNeeded>[1] }) => Promise<void>,
): Promise<void> {
  await inSmallWorld(turns, async (world) => {
    const infiniteSessions: ParamsInput<"session.create">["infiniteSessions"] = {
      enabled: true,
      backgroundCompactionThreshold: start / 128_000,
      bufferExhaustionThreshold: drop / 128_000,
    };
    const agent = world.runtime.sessions.get(await world.create({ infiniteSessions })).main;
    const input = { system: "", toolset: toolset([]), signal: new AbortController().signal };
    await test({ ...world, agent, input });
  });
}

/** Messages of a hundred tokens each. */
const hundred = (letter: string) => letter.repeat(400);

function talk({ session }: Agent): void {
  session.append("user.message", { content: hundred("u") });
  session.append("assistant.message", { messageId: "m", content: hundred("a") });
  session.append("user.message", { content: hundred("v") });
}

/** A prompt, an answer with two calls, and their results, which must stay together with the answer. */
function callTwo({ session }: Agent, round: number): void {
  session.append("user.message", { content: hundred("u") });
  const toolRequests = ["a", "b"].map((name) => ({ toolCallId: `${name}${round}`, name, arguments: {} }));
  session.append("assistant.message", { messageId: "m", content: hundred("x"), toolRequests });
  for (const { toolCallId } of toolRequests)
    session.append("tool.execution_complete", { toolCallId, success: true, result: { content: hundred("r") } });
}

const startsWell = ([first]: readonly Message[]) => first !== undefined && first.role !== "tool";

test("nothing happens below the threshold, or when compaction is switched off", async () => {
  await withAgent({ start: 301, drop: 400 }, [], async ({ agent, input, create, runtime }) => {
    talk(agent);
    await compactIfNeeded(agent, input);
    expect(agent.session.state.messages).toHaveLength(3);
    const off = runtime.sessions.get(await create({ infiniteSessions: { enabled: false } })).main;
    off.session.append("user.message", { content: "x".repeat(1_000_000) });
    await compactIfNeeded(off, input);
    expect(off.session.state.messages).toHaveLength(1);
  });
});

test("at the threshold the history becomes its summary, which is requested with the tools listed and none to be called", async () => {
  await withAgent({ start: 300, drop: 10_000 }, [[say("what "), say("was done")]], async (world) => {
    const { agent, input, provider, client } = world;
    talk(agent);
    await compactIfNeeded(agent, input);
    expect(agent.session.state.messages).toHaveLength(1);
    expect(JSON.stringify(agent.session.state.messages[0])).toContain("what was done");
    expect(provider.requests).toMatchObject([{ toolChoice: "none", headers: { "x-initiator": "agent" } }]);
    expect(provider.requests[0]?.messages).toHaveLength(4);
    expect(await client.received("session.compaction_complete")).toMatchObject({ success: true, trigger: "threshold" });
  });
});

test("the threshold counts tokens as the endpoint has reported them, and so does what is dropped", async () => {
  await withAgent({ start: 900, drop: 650 }, [new Error("down")], async ({ agent, input }) => {
    talk(agent);
    const usage = { ...NO_USAGE, inputTokens: 3000 };
    agent.session.append("assistant.message", {
      messageId: "n",
      content: "",
      model: "scripted",
      usage,
      estimatedTokens: 1000,
    });
    await compactIfNeeded(agent, input);
    // Of nine hundred tokens the oldest three hundred are dropped; one message is empty.
    expect(agent.session.state.messages).toHaveLength(3);
  });
});

test("a manual compaction of a history that does not fit into its own request is made of the newest part", async () => {
  const tooLong = new ModelError("400 prompt is too long", { kind: "api", status: 400 });
  await withAgent({ start: 300, drop: 400 }, [tooLong, tooLong, [say("short")]], async ({ agent, input, provider }) => {
    for (const round of [1, 2, 3, 4]) callTwo(agent, round);
    expect(await compact(agent, { ...input, trigger: "manual" })).toMatchObject({ summary: "short" });
    const sizes = provider.requests.map(({ messages }) => messages.length);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(new Set(sizes).size).toBe(3);
  });
});

test("a single prompt that is too long is not summarised", async () => {
  await withAgent({ start: 10, drop: 20 }, [], async ({ agent, input }) => {
    agent.session.append("user.message", { content: hundred("u") });
    await compactIfNeeded(agent, input);
    expect(agent.session.state.messages).toHaveLength(1);
  });
});

test.each([
  ["fails", new Error("the model is down")],
  ["is empty", [say("  ")]],
])("a summary that %s leaves the history as it was and does not end the turn", async (_, turn) => {
  await withAgent({ start: 300, drop: 10_000 }, [turn], async ({ agent, input, client }) => {
    talk(agent);
    const before = [...agent.session.state.messages];
    await compactIfNeeded(agent, input);
    expect(agent.session.state.messages).toEqual(before);
    expect(await client.received("session.compaction_complete")).toMatchObject({ success: false });
  });
});

test("a stop during the summary ends the turn", async () => {
  await withAgent({ start: 300, drop: 10_000 }, [[new Promise(() => undefined)]], async ({ agent, input, client }) => {
    talk(agent);
    const stop = new AbortController();
    const compacting = expect(compactIfNeeded(agent, { ...input, signal: stop.signal })).rejects.toThrow("stopped");
    await client.received("session.compaction_start");
    stop.abort(new Error("stopped"));
    await compacting;
    expect(agent.session.state.messages).toHaveLength(3);
  });
});

test("a manual compaction follows its own instructions, and an empty history cannot be compacted", async () => {
  await withAgent({ start: 300, drop: 400 }, [[say("short")]], async ({ agent, input, provider }) => {
    await expect(compact(agent, { ...input, trigger: "manual" })).rejects.toThrow("Nothing to compact.");
    talk(agent);
    const result = await compact(agent, { ...input, trigger: "manual", customInstructions: "keep the names" });
    expect(result).toMatchObject({ summary: "short", messagesRemoved: 2 });
    expect(result.tokensRemoved).toBeGreaterThan(0);
    expect(provider.requests[0]?.messages.at(-1)).toMatchObject({ content: expect.stringContaining("keep the names") });
  });
});

test("when a summary does not help, the oldest messages are dropped, and never a call without its results", async () => {
  for (let drop = 50; drop <= 1250; drop += 100) {
    await withAgent({ start: 40, drop }, [new Error("down")], async ({ agent, input }) => {
      for (const round of [1, 2, 3]) callTwo(agent, round);
      await compactIfNeeded(agent, input);
      const { messages } = agent.session.state;
      expect(startsWell(messages), `${drop}: ${messages.map(({ role }) => role).join(" ")}`).toBe(true);
      // As much as fits, and never less than the last answer with its results.
      expect(messages.length).toBe(Math.max(3, [0, 3, 4, 7, 8, 11, 12].findLast((count) => count * 100 <= drop) ?? 0));
    });
  }
});

test("a sub-agent holds a slot while its history is summarised", async () => {
  const free: number[] = [];
  const seen = (...steps: Step[]) => [
    () => {
      free.push(limits?.free ?? -1);
      return steps;
    },
  ];
  let limits: { free: number } | undefined;
  const task = call("task", { agent_type: "explore", name: "look", description: "d", prompt: "look around" });
  const turns = [
    [task],
    ...seen(call("list_agents")),
    ...seen(say("summary of the child")),
    ...seen(say("found")),
    [say("summary of the parent")],
    [say("done")],
  ];
  await inSmallWorld(turns, async ({ create, send, runtime, client }) => {
    const sessionId = await create({ infiniteSessions: { enabled: true, backgroundCompactionThreshold: 0 } });
    limits = runtime.sessions.get(sessionId).tree.limiter;
    const places = limits.free;
    await send(sessionId, "delegate");
    expect(client.of("session.compaction_complete")).toHaveLength(2);
    expect(free).toEqual([places - 1, places - 1, places - 1]);
    expect(limits.free).toBe(places);
  });
});
