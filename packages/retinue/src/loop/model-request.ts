/**
 * The request of a turn: the conversation and the tools as a provider takes them.
 *
 * Equal tools give the same list and equal messages the same object, so that an adapter can keep their serialised form.
 */
import type { Message, ModelRequest, ToolSpec, UserPart } from "../models/provider.ts";
import { remembered } from "../remembered.ts";
import type { Tool } from "../tools/tool.ts";
import type { Agent, Toolset } from "./agent.ts";

export interface RequestInput {
  initiator: "user" | "agent";
  system: string;
  toolset: Toolset;
  headers?: Readonly<Record<string, string>>;
  responseFormat?: unknown;
  /** How long the answer may get. */
  maxOutputTokens?: number;
  /** No call may follow. */
  isFinal?: boolean;
}

export function modelRequest(agent: Agent, input: RequestInput): ModelRequest {
  const { session, settings } = agent;
  const { wireModel, info } = agent.model();
  const messages = session.state.completeMessages();
  return {
    model: wireModel,
    system: input.system,
    messages: info.vision ? messages : withoutImages(messages),
    tools: specsOf(input.toolset),
    stream: settings.streaming,
    maxOutputTokens: input.maxOutputTokens ?? info.maxOutputTokens,
    reasoningEffort: session.state.reasoningEffort,
    reasoningSummary: settings.reasoningSummary,
    responseFormat: input.responseFormat,
    toolChoice: input.isFinal ? "none" : undefined,
    headers: { ...interactionHeaders(agent, input.initiator), ...input.headers },
  };
}

function interactionHeaders(agent: Agent, initiator: "user" | "agent"): Record<string, string> {
  if (agent.session.parent) return { "x-initiator": "agent", "x-interaction-type": "conversation-subagent" };
  return initiator === "user"
    ? { "x-initiator": "user", "x-interaction-type": "conversation-user" }
    : { "x-initiator": "agent" };
}

const blind = remembered(
  ({ content }: WithImages): Message => ({
    role: "user",
    content: content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n"),
  }),
);

/** Removes images for a model without vision. The same message always gives the same object, so that its serialised form can be kept. */
export function withoutImages(messages: readonly Message[]): readonly Message[] {
  if (!messages.some(hasImages)) return messages;
  return messages.map((message) => (hasImages(message) ? blind(message) : message));
}

interface WithImages {
  role: "user";
  content: readonly UserPart[];
}

function hasImages(message: Message): message is WithImages {
  return message.role === "user" && typeof message.content !== "string";
}

const specOf = remembered(({ name, description, parameters }: Tool): ToolSpec => ({ name, description, parameters }));

const specs = remembered((tools: readonly Tool[]): readonly ToolSpec[] => tools.map(specOf));

/** The same objects for the same tools, so that an adapter can keep their serialised form. */
export const specsOf = ({ tools }: Toolset): readonly ToolSpec[] => specs(tools);
