import { expect, test } from "vitest";
import type { Message } from "../provider.ts";
import { conversationBytes } from "./conversation-bytes.ts";

const say = (content: string): Message => ({ role: "user", content });
const textOf = conversationBytes((message) => (message.role === "user" ? `<${String(message.content)}>` : ""));
const read = (messages: readonly Message[]) => Buffer.from(textOf(messages)).toString();

test("a growing conversation is the old bytes and the new ones", () => {
  const messages = [say("a")];
  expect(read(messages)).toBe("<a>");
  messages.push(say("b"), say("ü€"));
  expect(read(messages)).toBe("<a>,<b>,<ü€>");
});

test("an earlier view keeps its content when the bytes move to a larger place", () => {
  const messages = [say("first")];
  const view = textOf(messages);
  messages.push(say("x".repeat(100_000)));
  textOf(messages);
  expect(Buffer.from(view).toString()).toBe("<first>");
});

test("a conversation that was changed before its end is made anew", () => {
  const messages = [say("a"), say("b")];
  read(messages);
  messages.splice(1, 0, say("inserted"));
  expect(read(messages)).toBe("<a>,<inserted>,<b>");
  messages.length = 1;
  expect(read(messages)).toBe("<a>");
});

test("an empty conversation has no bytes", () => {
  expect(read([])).toBe("");
});
