/** How full the model's context is: an estimate from lengths, cheap enough for every turn. */
import type { Message } from "../models/provider.ts";
import type { Agent, Toolset } from "./agent.ts";

const CHARACTERS_PER_TOKEN = 4;
const sizes = new WeakMap<object, number>();

export interface ContextSize {
  tokenLimit: number;
  currentTokens: number;
  messagesLength: number;
  systemTokens: number;
  conversationTokens: number;
  toolDefinitionsTokens: number;
}

export function contextSize(agent: Agent, { system, toolset }: { system: string; toolset: Toolset }): ContextSize {
  const messages = agent.session.state.messages;
  const systemTokens = tokensOf(system);
  const conversationTokens = conversationSize(messages);
  const toolDefinitionsTokens =
    toolset.tools.length === 0
      ? 0
      : remembered(toolset.tools, () =>
          tokensOf(
            JSON.stringify(
              toolset.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
            ),
          ),
        );
  return {
    tokenLimit: agent.model().info.maxPromptTokens,
    currentTokens: systemTokens + conversationTokens + toolDefinitionsTokens,
    messagesLength: messages.length + 1,
    systemTokens,
    conversationTokens,
    toolDefinitionsTokens,
  };
}

export function conversationSize(messages: readonly Message[]): number {
  let total = 0;
  for (const message of messages) total += remembered(message, () => messageTokens(message));
  return total;
}

export function messageTokens(message: Message): number {
  switch (message.role) {
    case "user":
      return typeof message.content === "string"
        ? tokensOf(message.content)
        : message.content.reduce((sum, part) => sum + (part.type === "text" ? tokensOf(part.text) : 1000), 0);
    case "assistant":
      return (
        tokensOf(message.text) +
        message.calls.reduce((sum, call) => sum + tokensOf(call.name) + tokensOf(call.arguments), 0) +
        tokensOf(message.reasoning?.text ?? "")
      );
    case "tool":
      return tokensOf(message.text);
  }
}

export function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

function remembered(key: object, measure: () => number): number {
  const known = sizes.get(key);
  if (known !== undefined) return known;
  const size = measure();
  sizes.set(key, size);
  return size;
}
