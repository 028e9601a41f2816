/**
 * How full the model's context is: an estimate from lengths, cheap enough for every turn.
 *
 * Four characters a token is right for English prose and far off for Chinese or code. What endpoints report corrects it: the scale.
 */
import type { Message, ToolSpec } from "../models/provider.ts";
import { remembered } from "../remembered.ts";
import type { Session } from "../session/session.ts";
import type { Agent, Toolset } from "./agent.ts";
import { specsOf } from "./model-request.ts";

const CHARACTERS_PER_TOKEN = 4;
/** Whatever its size. */
export const IMAGE_TOKENS = 1000;

export interface ContextSize {
  tokenLimit: number;
  currentTokens: number;
  messagesLength: number;
  systemTokens: number;
  conversationTokens: number;
  toolDefinitionsTokens: number;
}

export interface Measured {
  system: string;
  toolset: Toolset;
}

export function contextSize(agent: Agent, { system, toolset }: Measured): ContextSize {
  const { messages } = agent.session.state;
  const scaled = scaledFor(agent);
  const systemTokens = scaled(tokensOf(system));
  const conversationTokens = scaled(conversationSize(messages));
  const toolDefinitionsTokens = scaled(toolTokens(specsOf(toolset)));
  return {
    tokenLimit: agent.model().info.maxPromptTokens,
    currentTokens: systemTokens + conversationTokens + toolDefinitionsTokens,
    messagesLength: messages.length + 1,
    systemTokens,
    conversationTokens,
    toolDefinitionsTokens,
  };
}

/** At four characters a token, for the scale to be learned from. */
export function estimateOf({ session }: Agent, { system, toolset }: Measured): number {
  return tokensOf(system) + conversationSize(session.state.messages) + toolTokens(specsOf(toolset));
}

/** Turns an estimate into tokens as the agent's model counts them, as far as that was seen: by the agent itself, or by one above it. */
export function scaledFor(agent: Pick<Agent, "session" | "model">): (tokens: number) => number {
  const { id } = agent.model();
  let scale: number | undefined;
  for (let at: Session | undefined = agent.session; at && scale === undefined; at = at.parent)
    scale = at.state.usage.models.get(id)?.scale;
  return scale === undefined ? (tokens) => tokens : (tokens) => Math.ceil(tokens * (scale ?? 1));
}

const toolLength = remembered((tool: ToolSpec) => JSON.stringify(tool).length);

/** As a JSON list. */
const toolTokens = remembered((tools: readonly ToolSpec[]) =>
  tools.length === 0 ? 0 : inTokens(tools.reduce((sum, tool) => sum + toolLength(tool) + 1, 1)),
);

interface Counted {
  messages: number;
  last: Message | undefined;
  tokens: number;
}

/** A conversation mostly grows at its end, so only what was added is counted. */
const counted = remembered((_: readonly Message[]): Counted => ({ messages: 0, last: undefined, tokens: 0 }));

export function conversationSize(messages: readonly Message[]): number {
  const known = counted(messages);
  const isGrown = known.messages <= messages.length && messages[known.messages - 1] === known.last;
  if (!isGrown) Object.assign(known, { messages: 0, tokens: 0 });
  for (const message of messages.slice(known.messages)) known.tokens += sizeOf(message);
  known.messages = messages.length;
  known.last = messages.at(-1);
  return known.tokens;
}

export function messageTokens(message: Message): number {
  switch (message.role) {
    case "user":
      return typeof message.content === "string"
        ? tokensOf(message.content)
        : message.content.reduce((sum, part) => sum + (part.type === "text" ? tokensOf(part.text) : IMAGE_TOKENS), 0);
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

const sizeOf = remembered(messageTokens);

export const tokensOf = (text: string): number => inTokens(text.length);

const inTokens = (characters: number): number => Math.ceil(characters / CHARACTERS_PER_TOKEN);
