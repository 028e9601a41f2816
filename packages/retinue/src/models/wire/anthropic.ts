/** The Messages format: a request as JSON text. How an answer is read is in anthropic-answer.ts. */

import { remembered } from "../../remembered.ts";
import type { Message, ModelRequest, UserMessage } from "../provider.ts";
import { readMessage } from "./anthropic-answer.ts";
import { type Block, blocksOf } from "./blocks.ts";
import { type Endpoint, post } from "./endpoint.ts";
import { toolTexts } from "./tool-texts.ts";
import { isJsonObject, jsonObject } from "./wire.ts";
import { type WireProvider, wireProvider } from "./wire-provider.ts";

const DEFAULT_MAX_TOKENS = 8192;
const THINKING_TOKENS: Readonly<Record<string, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_000,
  max: 32_000,
};
const CACHED = '"cache_control":{"type":"ephemeral"}';

/** A run of messages of one side. The format has two sides that take turns; tool results are on the user's. */
interface Side {
  role: "user" | "assistant";
  /** JSON text of content blocks. */
  results: string[];
  blocks: string[];
}

export function anthropic(endpoint: Endpoint): WireProvider {
  const author = `${endpoint.id}/messages`;
  const blockTexts = remembered((message: Message) => contentOf(message, author).map((block) => JSON.stringify(block)));
  return wireProvider({
    id: endpoint.id,
    apiEndpoint: "/v1/messages",
    baseUrl: endpoint.baseUrl,
    async answer(request, { push, ...options }) {
      const body = bodyOf(request, sidesOf(request.messages, blockTexts), author);
      await readMessage(await post(endpoint, { path: "/v1/messages", request, body, ...options }), author, push);
    },
  });
}

function bodyOf(request: ModelRequest, sides: readonly Side[], author: string): string {
  const { model, system, tools, maxOutputTokens } = request;
  const thinking = thinkingTokens(request, author);
  const limit = maxOutputTokens ?? DEFAULT_MAX_TOKENS + thinking;
  const budget = Math.min(thinking, limit - 1024);
  return jsonObject({
    model: JSON.stringify(model),
    max_tokens: String(limit),
    system: system ? `[${cached(JSON.stringify({ type: "text", text: system }))}]` : undefined,
    messages: `[${sides.map((side, at) => sideText(side, at === sides.length - 1)).join(",")}]`,
    tools: tools.length > 0 ? toolsText(tools) : undefined,
    tool_choice: tools.length > 0 ? toolChoice(request.toolChoice) : undefined,
    thinking: budget >= 1024 ? JSON.stringify({ type: "enabled", budget_tokens: budget }) : undefined,
    stream: request.stream ? "true" : undefined,
  });
}

/** Thinking cannot start in the middle of a run of calls, nor together with a call that is asked for by name. */
function thinkingTokens({ reasoningEffort, toolChoice, messages }: ModelRequest, author: string): number {
  if (reasoningEffort === undefined || typeof toolChoice === "object") return 0;
  const last = messages.findLast((message) => message.role !== "tool");
  const isBetweenCalls = last?.role === "assistant" && last.calls.length > 0;
  if (isBetweenCalls && last.reasoning?.blocks?.provider !== author) return 0;
  return THINKING_TOKENS[reasoningEffort] ?? 0;
}

function toolChoice(choice: ModelRequest["toolChoice"]): string | undefined {
  if (choice === undefined) return undefined;
  return JSON.stringify(typeof choice === "string" ? { type: choice } : { type: "tool", name: choice.name });
}

const toolsText = toolTexts(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));

/** All results of a batch of calls go into the one user message that follows it, before anything else that the user side says. */
function sidesOf(messages: readonly Message[], blockTexts: (message: Message) => readonly string[]): Side[] {
  const sides: Side[] = [];
  for (const message of messages) {
    const texts = blockTexts(message);
    if (texts.length === 0) continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    if (sides.at(-1)?.role !== role) sides.push({ role, results: [], blocks: [] });
    const side = sides.at(-1);
    if (side) (message.role === "tool" ? side.results : side.blocks).push(...texts);
  }
  return sides;
}

/** The mark on the last turn lets the endpoint keep everything up to it for the next request. */
function sideText({ role, results, blocks }: Side, isLast: boolean): string {
  const all = [...results, ...blocks];
  const last = all.at(-1);
  if (isLast && role === "user" && last !== undefined) all[all.length - 1] = cached(last);
  return `{"role":"${role}","content":[${all.join(",")}]}`;
}

function cached(block: string): string {
  return `${block.slice(0, -1)},${CACHED}}`;
}

/** The format refuses empty texts, so they are left out. */
function contentOf(message: Message, author: string): unknown[] {
  switch (message.role) {
    case "user":
      return userContent(message.content);
    case "assistant":
      return blocksOf(message, author).map(assistantBlock);
    case "tool": {
      const { callId, text, failed } = message;
      return [
        { type: "tool_result", tool_use_id: callId, ...(text && { content: text }), ...(failed && { is_error: true }) },
      ];
    }
  }
}

function userContent(content: UserMessage["content"]): unknown[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return parts.flatMap((part): unknown[] => {
    if (part.type === "text") return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
    return [{ type: "image", source: { type: "base64", media_type: part.mimeType, data: part.data } }];
  });
}

function assistantBlock(block: Block): unknown {
  switch (block.type) {
    case "own":
      return block.item;
    case "text":
      return { type: "text", text: block.text };
    case "call": {
      const { id, name, arguments: args } = block.call;
      return { type: "tool_use", id, name, input: isJsonObject(args) ? JSON.parse(args) : {} };
    }
  }
}
