import type { EventData } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { type Message, type ModelRequest, NO_USAGE, type Part } from "../models/provider.ts";
import { call, say, type Turn } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import { type Agent, toolset } from "./agent.ts";
import { contextSize, conversationSize, messageTokens, tokensOf } from "./context-size.ts";

test("a fraction of a token counts as one", () => {
  expect(["", "a", "abcd", "abcde"].map(tokensOf)).toEqual([0, 1, 1, 2]);
});

test("a conversation is counted anew when a message came in before its end, and when it was cut", () => {
  const say = (content: string): Message => ({ role: "user", content });
  const messages = [say("abcd"), say("abcdefgh")];
  expect(conversationSize(messages)).toBe(3);
  messages.push(say("abcd"));
  expect(conversationSize(messages)).toBe(4);
  messages.splice(2, 0, say("abcdefghijkl"));
  expect(conversationSize(messages)).toBe(7);
  messages.length = 1;
  expect(conversationSize(messages)).toBe(1);
});

test("every part of a message that a request carries is counted: calls, reasoning, images", () => {
  const messages: Message[] = [
    { role: "user", content: "abcd" },
    {
      role: "user",
      content: [
        { type: "text", text: "abcd" },
        { type: "image", mimeType: "image/png", data: "" },
      ],
    },
    {
      role: "assistant",
      text: "abcd",
      calls: [{ id: "1", name: "view", arguments: "abcdefgh" }],
      reasoning: { text: "abcd" },
    },
    { role: "tool", callId: "1", text: "abcdefgh" },
  ];
  expect(messages.map(messageTokens)).toEqual([1, 1001, 5, 2]);
  expect(conversationSize(messages)).toBe(1009);
});

test("the parts add up to the whole, and an empty list of tools costs nothing", async () => {
  await inSmallWorld([], async ({ create, runtime }) => {
    const { main } = runtime.sessions.get(await create());
    main.session.append("user.message", { content: "x".repeat(400) });
    const set = await main.kit.tools();
    const size = contextSize(main, { system: "s".repeat(40), toolset: set });
    expect(size).toMatchObject({ systemTokens: 10, conversationTokens: 100, messagesLength: 2 });
    expect(size.toolDefinitionsTokens).toBeGreaterThan(100);
    expect(size.currentTokens).toBe(110 + size.toolDefinitionsTokens);
    expect(contextSize(main, { system: "", toolset: toolset([]) }).currentTokens).toBe(100);
  });
});

describe("the tokens of a text", () => {
  const RAW = 1000;
  /** The endpoint says how many tokens a request had that was estimated at a thousand. */
  const report = ({ session }: Agent, inputTokens: number, { model = "scripted", estimatedTokens = RAW } = {}) =>
    session.append("assistant.message", {
      messageId: session.world.newId(),
      content: "",
      model,
      usage: { ...NO_USAGE, inputTokens },
      estimatedTokens,
    });
  const sizeOf = (agent: Agent) => contextSize(agent, { system: "s".repeat(400), toolset: toolset([]) }).currentTokens;

  test("are what the endpoint has reported of the latest request, for its model only", async () => {
    await inSmallWorld([], async ({ create, runtime }) => {
      const { main } = runtime.sessions.get(await create());
      expect(sizeOf(main)).toBe(100);
      report(main, 3 * RAW, { model: "another" });
      expect(sizeOf(main)).toBe(100);
      report(main, 3 * RAW);
      expect(sizeOf(main)).toBe(300);
      report(main, 0.8 * RAW);
      expect(sizeOf(main)).toBe(80);
    });
  });

  /** As if every text had three tokens for each four characters. */
  const threeFold = ({ system, messages, tools }: ModelRequest, reason: "stop" | "calls"): Part => {
    const inputTokens = Math.round(JSON.stringify([system, messages, tools]).length * 0.75);
    return { type: "end", reason, usage: { ...NO_USAGE, inputTokens } };
  };

  test("are known to a sub-agent with the same model from its first request on", async () => {
    const task = call("task", { agent_type: "explore", name: "look", description: "d", prompt: "look around" }, "c1");
    const delegate: Turn = (request) => [task, threeFold(request, "calls")];
    await inSmallWorld([delegate, [say("found")], [say("done")]], async ({ create, send, client }) => {
      await send(await create(), "delegate");
      const ofChild = (type: string) => client.events.find((event) => event.type === type && event.agentId)?.data;
      const { currentTokens } = ofChild("session.usage_info") as EventData<"session.usage_info">;
      const { estimatedTokens = 0 } = ofChild("assistant.message") as EventData<"assistant.message">;
      expect(currentTokens / estimatedTokens).toBeGreaterThan(2);
    });
  });

  test.each([
    ["nothing", 0, RAW],
    ["only what was not cached", 40, RAW],
    ["more than any text can have", 1_000_000, RAW],
    ["mostly what surrounds a short request", 90, 30],
  ])("are not learned from a report of %s", async (_, inputTokens, estimatedTokens) => {
    await inSmallWorld([], async ({ create, runtime }) => {
      const { main } = runtime.sessions.get(await create());
      report(main, 2 * RAW);
      report(main, inputTokens, { estimatedTokens });
      expect(sizeOf(main)).toBe(200);
    });
  });

  test("are learned in a run, count for the context info, and are known after a restart", async () => {
    const chinese = "会话很长，需要总结。".repeat(400);
    const answer: Turn = (request) => [say("好"), threeFold(request, "stop")];
    const talk = async ({ create, send, client, restart }: SmallWorld) => {
      const sessionId = await create();
      for (const prompt of [chinese, chinese]) await send(sessionId, prompt);
      const [first = 0, second = 0] = client.of("session.usage_info").map(({ currentTokens }) => currentTokens);
      const [real = 1, later = 1] = client.of("assistant.usage").map(({ inputTokens = 0 }) => inputTokens);
      expect(first / real).toBeLessThan(0.5);
      expect(Math.abs(1 - second / later)).toBeLessThan(0.1);
      const infoOf = async (asking: SmallWorld["client"]) =>
        (await asking.call("session.metadata.contextInfo", { sessionId })).contextInfo?.totalTokens ?? 0;
      const before = await infoOf(client);
      expect(before).toBeGreaterThan(second);
      const again = await restart();
      await again.client.call("session.resume", { sessionId });
      expect(await infoOf(again.client)).toBe(before);
    };
    await inSmallWorld([answer, answer], talk, { isOnDisk: true });
  });
});
