/** The chat completions format: a request as JSON text. How an answer is read is in openai-chat-answer.ts. */

import type { AssistantMessage, Message, ModelCall, ModelRequest, UserMessage } from "../provider.ts";
import { conversationBytes } from "./conversation-bytes.ts";
import { type Endpoint, post } from "./endpoint.ts";
import { readChatAnswer } from "./openai-chat-answer.ts";
import { responseFormatForWire } from "./response-format.ts";
import { toolTexts } from "./tool-texts.ts";
import { isReasoningModel, jsonObject } from "./wire.ts";
import { type WireProvider, wireProvider } from "./wire-provider.ts";

export function openaiChat(endpoint: Endpoint): WireProvider {
  return wireProvider({
    id: endpoint.id,
    apiEndpoint: "/chat/completions",
    baseUrl: endpoint.baseUrl,
    async answer(request, { push, ...options }) {
      const body = bodyOf(request);
      await readChatAnswer(await post(endpoint, { path: "/chat/completions", request, body, ...options }), push);
    },
  });
}

/** The history is kept as bytes; only what surrounds it is made for each request. */
function bodyOf(request: ModelRequest): readonly (string | Uint8Array)[] {
  const { model, system, messages, responseFormat, reasoningEffort } = request;
  const around = jsonObject({
    model: JSON.stringify(model),
    tools: request.tools.length > 0 ? toolsText(request.tools) : undefined,
    tool_choice: request.tools.length > 0 ? toolChoice(request.toolChoice) : undefined,
    ...sampling(request),
    reasoning_effort: reasoningEffort && JSON.stringify(reasoningEffort),
    response_format: responseFormat === undefined ? undefined : JSON.stringify(responseFormatForWire(responseFormat)),
    stream: request.stream ? "true" : undefined,
    stream_options: request.stream ? '{"include_usage":true}' : undefined,
  });
  const first = system ? JSON.stringify({ role: "system", content: system }) : "";
  const comma = system && messages.length > 0 ? "," : "";
  return [`${around.slice(0, -1)},"messages":[${first}${comma}`, conversation(messages), "]}"];
}

function sampling({ model, reasoningEffort, maxOutputTokens }: ModelRequest): Record<string, string | undefined> {
  const limit = maxOutputTokens === undefined ? undefined : String(maxOutputTokens);
  if (reasoningEffort !== undefined || isReasoningModel(model)) return { max_completion_tokens: limit };
  return { temperature: "0", top_p: "0.95", frequency_penalty: "0", presence_penalty: "0", max_tokens: limit };
}

function toolChoice(choice: ModelRequest["toolChoice"]): string | undefined {
  if (choice === undefined) return undefined;
  return JSON.stringify(typeof choice === "string" ? choice : { type: "function", function: { name: choice.name } });
}

const toolsText = toolTexts(({ name, description, parameters }) => ({
  type: "function",
  function: { name, description, parameters },
}));

const conversation = conversationBytes((message: Message): string => {
  switch (message.role) {
    case "user":
      return JSON.stringify({ role: "user", content: userContent(message.content) });
    case "assistant":
      return JSON.stringify(assistantMessage(message));
    case "tool":
      return JSON.stringify({ role: "tool", tool_call_id: message.callId, content: message.text });
  }
});

function userContent(content: UserMessage["content"]): unknown {
  if (typeof content === "string") return content;
  return content.map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image_url", image_url: { url: `data:${part.mimeType};base64,${part.data}` } },
  );
}

/** Reasoning with blocks was written by another wire format and is sent back only there. */
function assistantMessage({ text, calls, reasoning }: AssistantMessage): unknown {
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    reasoning_content: reasoning?.blocks ? undefined : reasoning?.text || undefined,
    tool_calls: calls.length > 0 ? calls.map(toolCall) : undefined,
  };
}

function toolCall({ id, name, arguments: args }: ModelCall): unknown {
  return { id, type: "function", function: { name, arguments: args } };
}
