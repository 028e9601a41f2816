/**
 * The Responses format, stateless: nothing is stored at the endpoint, and encrypted reasoning travels with the history.
 * How an answer is read is in openai-responses-answer.ts.
 */

import { remembered } from "../../remembered.ts";
import type { Message, ModelRequest, UserMessage } from "../provider.ts";
import { type Block, blocksOf } from "./blocks.ts";
import { type Endpoint, post } from "./endpoint.ts";
import { readResponse } from "./openai-responses-answer.ts";
import { responseFormatForWire } from "./response-format.ts";
import { toolTexts } from "./tool-texts.ts";
import { isReasoningModel, jsonObject } from "./wire.ts";
import { type WireProvider, wireProvider } from "./wire-provider.ts";

export function openaiResponses(endpoint: Endpoint): WireProvider {
  const author = `${endpoint.id}/responses`;
  const itemsText = remembered((message: Message) =>
    itemsOf(message, author)
      .map((item) => JSON.stringify(item))
      .join(","),
  );
  return wireProvider({
    id: endpoint.id,
    apiEndpoint: "/responses",
    baseUrl: endpoint.baseUrl,
    async answer(request, { push, ...options }) {
      const body = bodyOf(
        request,
        request.messages.map(itemsText).filter((text) => text !== ""),
      );
      await readResponse(await post(endpoint, { path: "/responses", request, body, ...options }), author, push);
    },
  });
}

function bodyOf(request: ModelRequest, input: readonly string[]): string {
  const { model, system, tools, maxOutputTokens, responseFormat } = request;
  return jsonObject({
    model: JSON.stringify(model),
    instructions: system ? JSON.stringify(system) : undefined,
    input: `[${input.join(",")}]`,
    tools: tools.length > 0 ? toolsText(tools) : undefined,
    tool_choice: tools.length > 0 ? toolChoice(request.toolChoice) : undefined,
    max_output_tokens: maxOutputTokens === undefined ? undefined : String(maxOutputTokens),
    text: responseFormat === undefined ? undefined : JSON.stringify({ format: formatOf(responseFormat) }),
    ...reasoningMembers(request),
    store: "false",
    stream: request.stream ? "true" : undefined,
  });
}

/** Only models that reason know these members; others refuse the request. */
function reasoningMembers({ model, reasoningEffort, reasoningSummary }: ModelRequest): Record<string, string> {
  if (reasoningEffort === undefined && !isReasoningModel(model)) return {};
  const summary = reasoningSummary === "none" ? undefined : (reasoningSummary ?? "auto");
  return {
    reasoning: JSON.stringify({ effort: reasoningEffort, summary }),
    include: '["reasoning.encrypted_content"]',
  };
}

function toolChoice(choice: ModelRequest["toolChoice"]): string | undefined {
  if (choice === undefined) return undefined;
  return JSON.stringify(typeof choice === "string" ? choice : { type: "function", name: choice.name });
}

/** The chat format nests a JSON schema one level deeper. */
function formatOf(given: unknown): unknown {
  const format = responseFormatForWire(given);
  if (typeof format !== "object" || format === null || !("json_schema" in format)) return format;
  const { json_schema: schema } = format;
  return { type: "json_schema", ...(typeof schema === "object" ? schema : {}) };
}

const toolsText = toolTexts(({ name, description, parameters }) => ({
  type: "function",
  name,
  description,
  parameters,
  strict: false,
}));

function itemsOf(message: Message, author: string): unknown[] {
  switch (message.role) {
    case "user":
      return [{ type: "message", role: "user", content: userContent(message.content) }];
    case "assistant":
      return blocksOf(message, author).map(itemOf);
    case "tool":
      return [{ type: "function_call_output", call_id: message.callId, output: message.text }];
  }
}

function userContent(content: UserMessage["content"]): unknown {
  if (typeof content === "string") return [{ type: "input_text", text: content }];
  return content.map((part) =>
    part.type === "text"
      ? { type: "input_text", text: part.text }
      : { type: "input_image", image_url: `data:${part.mimeType};base64,${part.data}` },
  );
}

function itemOf(block: Block): unknown {
  switch (block.type) {
    case "own":
      return block.item;
    case "text":
      return { type: "message", role: "assistant", content: [{ type: "output_text", text: block.text }] };
    case "call": {
      const { id, name, arguments: args } = block.call;
      return { type: "function_call", call_id: id, name, arguments: args };
    }
  }
}
