/** The newest part of a conversation, for a summary that must be asked for with less than the whole. */
import type { Message } from "../models/provider.ts";
import { conversationSize, messageTokens } from "./context-size.ts";

/**
 * About this share of the conversation: the first message, which says what it is about, and the newest ones, each cut in the middle when it is
 * long. Never a result without its call.
 */
export function shortened(messages: readonly Message[], share: number): readonly Message[] {
  if (share >= 1) return messages;
  const budget = Math.floor(conversationSize(messages) * share);
  const cut = messages.map((message) => cutMessage(message, budget / 4));
  const [first, ...rest] = cut;
  if (!first) return messages;
  let left = budget - messageTokens(first);
  let from = rest.length;
  for (const [index, message] of [...rest.entries()].reverse()) {
    left -= messageTokens(message);
    if (left < 0) break;
    if (message.role !== "tool") from = index;
  }
  return [first, ...rest.slice(from)];
}

const CHARACTERS = 4;

function cutMessage(message: Message, tokens: number): Message {
  const most = Math.floor(tokens * CHARACTERS);
  switch (message.role) {
    case "user":
      if (typeof message.content === "string") return { ...message, content: cutText(message.content, most) };
      return {
        ...message,
        content: message.content.flatMap((part) =>
          part.type === "text" ? [{ ...part, text: cutText(part.text, most) }] : [],
        ),
      };
    case "tool":
      return { ...message, text: cutText(message.text, most) };
    case "assistant":
      return message;
  }
}

function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  const left = `\n[… ${text.length - 2 * half} characters are left out here …]\n`;
  return `${text.slice(0, half)}${left}${text.slice(text.length - half)}`;
}
