import { expect, test } from "vitest";
import type { Message } from "../models/provider.ts";
import { conversationSize } from "./context-size.ts";
import { shortened } from "./shortened.ts";

const prompt = (text: string): Message => ({ role: "user", content: text });
const calling = (...ids: string[]): Message => ({
  role: "assistant",
  text: "",
  calls: ids.map((id) => ({ id, name: "view", arguments: "{}" })),
});
const result = (callId: string, text: string): Message => ({ role: "tool", callId, text });

/** A prompt, then rounds of an answer with two calls and their results. */
const talk = (rounds: number): Message[] => [
  prompt("what it is about"),
  ...Array.from({ length: rounds }, (_, at) => [
    calling(`a${at}`, `b${at}`),
    result(`a${at}`, "r".repeat(400)),
    result(`b${at}`, "s".repeat(400)),
  ]).flat(),
];

test("the whole is the same conversation, and a share begins as it did and ends as it does, within its size", () => {
  const all = talk(20);
  expect(shortened(all, 1)).toBe(all);
  for (const share of [1 / 2, 1 / 4, 1 / 8]) {
    const part = shortened(all, share);
    expect(part[0]).toEqual(all[0]);
    expect(part.at(-1)).toEqual(all.at(-1));
    expect(conversationSize(part)).toBeLessThanOrEqual(conversationSize(all) * share);
  }
});

test("a result is never without its call", () => {
  const all = talk(20);
  for (let share = 0.02; share < 1; share += 0.01) {
    const part = shortened(all, share);
    const called = new Set(
      part.flatMap((message) => (message.role === "assistant" ? message.calls : [])).map(({ id }) => id),
    );
    for (const message of part) if (message.role === "tool") expect(called).toContain(message.callId);
  }
});

test("a long result or prompt is cut in the middle, and says how much is left out", () => {
  const long = `begin${"x".repeat(100_000)}end`;
  const part = shortened([prompt(long), calling("a"), result("a", long), prompt("go on")], 1 / 2);
  expect(part).toHaveLength(4);
  for (const message of [part[0], part[2]]) {
    const text = JSON.stringify(message);
    expect(text).toMatch(/begin.*\[… \d+ characters are left out here …\].*end/);
    expect(text.length).toBeLessThan(30_000);
  }
});

test("images are left out of a share", () => {
  const image: Message = {
    role: "user",
    content: [
      { type: "text", text: "look" },
      { type: "image", mimeType: "image/png", data: "AAAA" },
    ],
  };
  expect(JSON.stringify(shortened([image, prompt("x".repeat(4000))], 1 / 2))).not.toContain("AAAA");
});
