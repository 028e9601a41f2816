/**
 * An MCP server's request to a model, answered by the model of an agent: on its bill and its budget, and with nothing of its conversation.
 *
 * Text and images reach the model. What it cannot be shown is refused in words, since an answer to half of a question would be wrong.
 */
import type { CreateMessageRequestParams, CreateMessageResult } from "@modelcontextprotocol/client";
import { AppError } from "@retinue/protocol";
import type { Agent } from "../loop/agent.ts";
import { sideRequest } from "../loop/side-request.ts";
import type { Message, UserPart } from "../models/provider.ts";
import { imageType, MAX_IMAGE_BYTES } from "../tools/files/image-type.ts";

type ServerMessage = CreateMessageRequestParams["messages"][number];
type Block = Extract<ServerMessage["content"], readonly unknown[]>[number];

const ENDS = { stop: "endTurn", calls: "endTurn", filtered: "contentFilter", length: "maxTokens" } as const;

export async function sampleModel(
  agent: Agent,
  params: CreateMessageRequestParams,
  { signal }: { signal: AbortSignal },
): Promise<CreateMessageResult> {
  checkSampling(agent, params);
  const { model, text, reason } = await sideRequest(agent, {
    system: params.systemPrompt ?? "",
    messages: params.messages.map(messageOf),
    maxOutputTokens: params.maxTokens,
    signal,
  });
  return { role: "assistant", model, content: { type: "text", text }, stopReason: ENDS[reason] };
}

/** Throws when the agent's model cannot be asked this. Looked at before a person is asked. */
export function checkSampling(agent: Agent, params: CreateMessageRequestParams): void {
  const { messages, maxTokens, tools } = params;
  if (messages.length === 0) throw impossible("it has no messages");
  if (!(maxTokens >= 1)) throw impossible(`maxTokens is ${maxTokens}`);
  if (tools && tools.length > 0) throw impossible("it brings tools, which are not offered to the model here");
  const hasImage = messages.map(messageOf).some(({ role, ...more }) => role === "user" && hasImages(more));
  const { id, info } = agent.model();
  if (hasImage && !info.vision) throw impossible(`it has images, and ${id} cannot see`);
}

const hasImages = (message: object): boolean => "content" in message && typeof message.content !== "string";

function messageOf({ role, content }: ServerMessage): Message {
  const blocks = [content].flat();
  if (role === "assistant") return { role, text: blocks.map(textOf).join("\n"), calls: [] };
  if (blocks.every(({ type }) => type === "text")) return { role, content: blocks.map(textOf).join("\n") };
  return { role, content: blocks.map(partOf) };
}

function textOf(block: Block): string {
  if (block.type === "text") return block.text;
  throw impossible(`an answer of the model with ${block.type} cannot be sent`);
}

function partOf(block: Block): UserPart {
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type !== "image") throw impossible(`${block.type} cannot be sent to the model, only text and images`);
  const bytes = Buffer.from(block.data, "base64");
  const mimeType = imageType(bytes);
  if (mimeType === undefined) throw impossible("one of its images is neither PNG, JPEG, GIF nor WebP");
  if (bytes.length > MAX_IMAGE_BYTES) throw impossible(`one of its images has more than ${MAX_IMAGE_BYTES} bytes`);
  return { type: "image", mimeType, data: block.data };
}

const impossible = (why: string): AppError => new AppError("invalid_params", `The model cannot be asked: ${why}.`);
