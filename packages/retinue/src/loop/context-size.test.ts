import { expect, test } from "vitest";
import type { Message } from "../models/provider.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { toolset } from "./agent.ts";
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
