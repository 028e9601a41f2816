/**
 * One turn: one model request, its streamed answer, and the answer as an event.
 *
 * Owns the way from Parts to events. What the calls in the answer do is calls.ts; when there is a next turn, interact.ts.
 */
import type { EventData } from "@retinue/protocol";
import {
  type Message,
  type ModelCall,
  type ModelError,
  NO_USAGE,
  type Part,
  type Reasoning,
  type ToolSpec,
  type Usage,
  type UserPart,
} from "../models/provider.ts";
import { withRetries } from "../models/retry.ts";
import type { Agent, Toolset } from "./agent.ts";
import { contextSize } from "./context-size.ts";

export interface TurnInput {
  turnId: string;
  interactionId: string;
  initiator: "user" | "agent";
  system: string;
  toolset: Toolset;
  headers?: Readonly<Record<string, string>>;
  requiredTool?: string;
  responseFormat?: unknown;
  signal: AbortSignal;
}

export interface Answer {
  text: string;
  calls: readonly ModelCall[];
  /** Why the arguments of a call could not be read, by call id. */
  badArguments: ReadonlyMap<string, string>;
  finish: "stop" | "calls" | "length" | "filtered";
  reasoning?: Reasoning;
  usage: Usage;
  messageId: string;
}

export async function runTurn(agent: Agent, input: TurnInput): Promise<Answer> {
  const { session } = agent;
  const choice = agent.model();
  session.announce("session.usage_info", contextSize(agent, input));
  const startedAt = session.world.now();
  const reading = new Reading(agent);
  const request = {
    model: choice.wireModel,
    system: input.system,
    messages: choice.info.vision ? session.state.completeMessages() : withoutImages(session.state.completeMessages()),
    tools: specsOf(input.toolset),
    stream: agent.settings.streaming,
    maxOutputTokens: choice.info.maxOutputTokens,
    reasoningEffort: session.state.reasoningEffort,
    reasoningSummary: agent.settings.reasoningSummary,
    responseFormat: input.responseFormat,
    ...(input.requiredTool ? { toolChoice: { name: input.requiredTool } } : {}),
    headers: { ...interactionHeaders(agent, input.initiator), ...input.headers },
  };
  const parts = withRetries(choice.provider, request, {
    signal: input.signal,
    onFailure: ({ error }) => reportFailure(agent, error, input, session.world.now() - startedAt),
    onRestart: () => reading.restart(),
  });
  for await (const part of parts) reading.read(part);
  const answer = reading.end();
  const durationMs = session.world.now() - startedAt;
  report(agent, { answer, input, durationMs, reading });
  return answer;
}

/** Gathers the parts of an answer and tells them as they come. */
class Reading {
  readonly #agent: Agent;
  readonly #isTelling: boolean;
  #messageId: string;
  #text: string[] = [];
  #reasoning: string[] = [];
  #reasoningId: string | undefined;
  #blocks: Reasoning["blocks"];
  #calls: ModelCall[] = [];
  #hasBegun = false;
  #bytes = 0;
  #toldBytes = 0;
  responseId: string | undefined;
  finish: Answer["finish"] = "stop";
  usage: Usage = NO_USAGE;
  firstPartAt: number | undefined;

  constructor(agent: Agent) {
    this.#agent = agent;
    this.#isTelling = agent.settings.streaming && agent.settings.includeDeltas;
    this.#messageId = agent.session.world.newId();
  }

  get reasoningId(): string | undefined {
    return this.#reasoningId;
  }

  /** The call failed half-way and is made again: what was told so far belongs to a message that will never come. */
  restart(): void {
    this.#messageId = this.#agent.session.world.newId();
    this.#text = [];
    this.#reasoning = [];
    this.#reasoningId = undefined;
    this.#blocks = undefined;
    this.#calls = [];
    this.#hasBegun = false;
  }

  read(part: Part): void {
    this.firstPartAt ??= this.#agent.session.world.now();
    switch (part.type) {
      case "text":
        this.#onText(part.delta);
        return;
      case "reasoning":
        this.#onReasoning(part.delta);
        return;
      case "reasoning_blocks":
        this.#blocks = { provider: part.provider, items: part.items };
        return;
      case "call_delta":
        this.#tellBytes(part.delta.length);
        this.#tell("assistant.tool_call_delta", {
          toolCallId: part.id,
          toolName: part.name,
          toolType: "function",
          inputDelta: part.delta,
        });
        return;
      case "call":
        this.#calls.push({ id: part.id, name: part.name, arguments: part.arguments });
        return;
      case "end":
        this.finish = part.reason;
        this.usage = part.usage;
        this.responseId = part.responseId;
        return;
      default:
        part satisfies never;
    }
  }

  end(): Answer {
    const badArguments = new Map<string, string>();
    const calls = distinct(this.#calls).map((call) => {
      if (call.arguments === "") return { ...call, arguments: "{}" };
      const problem = problemOf(call.arguments);
      if (problem === undefined) return call;
      badArguments.set(call.id, problem);
      return { ...call, arguments: "{}" };
    });
    const reasoning = this.#reasoning.join("");
    return {
      text: this.#text.join(""),
      calls,
      badArguments,
      finish: this.finish,
      usage: this.usage,
      messageId: this.#messageId,
      ...(reasoning || this.#blocks
        ? { reasoning: { ...(reasoning ? { text: reasoning } : {}), blocks: this.#blocks } }
        : {}),
    };
  }

  #onText(delta: string): void {
    this.#text.push(delta);
    if (!this.#isTelling) return;
    this.#tellBytes(delta.length);
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#tell("assistant.message_start", { messageId: this.#messageId });
    }
    const { parentCallId } = this.#agent.session;
    this.#tell("assistant.message_delta", {
      messageId: this.#messageId,
      deltaContent: delta,
      ...(parentCallId ? { parentToolCallId: parentCallId } : {}),
    });
  }

  #onReasoning(delta: string): void {
    this.#reasoning.push(delta);
    this.#reasoningId ??= this.#agent.session.world.newId();
    this.#tell("assistant.reasoning_delta", { reasoningId: this.#reasoningId, deltaContent: delta });
  }

  /** A running size, told now and then and not with every piece. */
  #tellBytes(count: number): void {
    this.#bytes += count;
    if (this.#toldBytes > 0 && this.#bytes - this.#toldBytes < 4096) return;
    this.#toldBytes = this.#bytes;
    this.#tell("assistant.streaming_delta", { totalResponseSizeBytes: this.#bytes });
  }

  #tell<
    T extends
      | "assistant.message_start"
      | "assistant.message_delta"
      | "assistant.reasoning_delta"
      | "assistant.tool_call_delta"
      | "assistant.streaming_delta",
  >(type: T, data: EventData<T>): void {
    if (this.#isTelling) this.#agent.session.announce(type, data);
  }
}

function report(
  agent: Agent,
  { answer, input, durationMs, reading }: { answer: Answer; input: TurnInput; durationMs: number; reading: Reading },
): void {
  const { session } = agent;
  const choice = agent.model();
  const { usage } = answer;
  agent.used({ tokens: usage.inputTokens + usage.outputTokens, cost: choice.info.multiplier ?? 0 });
  session.announce("assistant.usage", {
    model: choice.id,
    ...usage,
    cost: choice.info.multiplier ?? 0,
    duration: durationMs,
    initiator: session.parent ? "sub-agent" : input.initiator,
    interactionType: session.parent ? "conversation-subagent" : "conversation-agent",
    isByok: true,
    isAuto: false,
    maxPromptTokens: choice.info.maxPromptTokens,
    transport: "http",
    ...(reading.responseId ? { apiCallId: reading.responseId } : {}),
    ...(choice.provider.apiEndpoint === "offline" ? {} : { apiEndpoint: choice.provider.apiEndpoint }),
    finishReason: WIRE_FINISH[answer.finish],
    contentFilterTriggered: answer.finish === "filtered",
    ...(session.parentCallId ? { parentToolCallId: session.parentCallId } : {}),
  });
  session.append("assistant.message", {
    messageId: answer.messageId,
    ...(session.state.originatingMessageId ? { originatingMessageId: session.state.originatingMessageId } : {}),
    model: choice.id,
    content: answer.finish === "filtered" && answer.text === "" ? FILTERED : answer.text,
    toolRequests: answer.calls.map((call) => toolRequest(call, input.toolset)),
    interactionId: input.interactionId,
    turnId: input.turnId,
    ...(answer.reasoning?.text ? { reasoningText: answer.reasoning.text } : {}),
    ...(answer.reasoning?.blocks
      ? { reasoningBlocks: { provider: answer.reasoning.blocks.provider, blocks: [...answer.reasoning.blocks.items] } }
      : {}),
    ...(reading.responseId ? { apiCallId: reading.responseId } : {}),
    ...(session.parentCallId ? { parentToolCallId: session.parentCallId } : {}),
    usage,
    apiDurationMs: durationMs,
  });
  if (answer.reasoning?.text) {
    session.announce("assistant.reasoning", {
      reasoningId: reading.reasoningId ?? answer.messageId,
      content: answer.reasoning.text,
    });
  }
}

const FILTERED = "The model returned no content because the response was blocked by content filtering.";
const WIRE_FINISH = { stop: "stop", calls: "tool_calls", length: "length", filtered: "content_filter" } as const;

function toolRequest(call: ModelCall, toolset: Toolset) {
  const args: unknown = JSON.parse(call.arguments);
  const tool = toolset.byName.get(call.name);
  const intention = typeof args === "object" && args !== null && "description" in args ? args.description : undefined;
  return {
    toolCallId: call.id,
    name: call.name,
    arguments: args,
    type: "function" as const,
    ...(typeof intention === "string" ? { intentionSummary: intention } : {}),
    ...(tool?.mcp ? { mcpServerName: tool.mcp.server, mcpToolName: tool.mcp.tool } : {}),
  };
}

function reportFailure(agent: Agent, error: ModelError, input: TurnInput, durationMs: number): void {
  const choice = agent.model();
  agent.session.announce("model.call_failure", {
    model: choice.id,
    source: agent.session.parent ? "subagent" : "top_level",
    ...(error.status === undefined ? {} : { statusCode: error.status }),
    failureKind: error.kind === "api" ? "api" : "transport",
    errorMessage: error.detail ?? error.message,
    ...(error.providerType ? { errorType: error.providerType } : {}),
    ...(error.providerCode ? { errorCode: error.providerCode } : {}),
    initiator: input.initiator,
    durationMs,
    isByok: true,
    isAuto: false,
    transport: "http",
    ...(choice.provider.apiEndpoint === "offline" ? {} : { apiEndpoint: choice.provider.apiEndpoint }),
  });
}

function interactionHeaders(agent: Agent, initiator: "user" | "agent"): Record<string, string> {
  if (agent.session.parent) return { "x-initiator": "agent", "x-interaction-type": "conversation-subagent" };
  return initiator === "user"
    ? { "x-initiator": "user", "x-interaction-type": "conversation-user" }
    : { "x-initiator": "agent" };
}

const blind = new WeakMap<Message, Message>();

/** For a model that cannot see. The same message becomes the same message, so that its serialised form can be kept. */
export function withoutImages(messages: readonly Message[]): readonly Message[] {
  if (!messages.some(hasImages)) return messages;
  return messages.map((message) => {
    if (!hasImages(message)) return message;
    const known = blind.get(message) ?? {
      role: "user" as const,
      content: message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n"),
    };
    blind.set(message, known);
    return known;
  });
}

function hasImages(message: Message): message is { role: "user"; content: readonly UserPart[] } {
  return message.role === "user" && typeof message.content !== "string";
}

const SPECS = new WeakMap<readonly unknown[], readonly ToolSpec[]>();

/** The same array for the same tools, so that an adapter can keep its serialised form. */
export function specsOf({ tools }: Toolset): readonly ToolSpec[] {
  const known = SPECS.get(tools);
  if (known) return known;
  const specs = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  SPECS.set(tools, specs);
  return specs;
}

/** Two calls with one id would be one call in the log. */
function distinct(calls: readonly ModelCall[]): ModelCall[] {
  const given = new Set(calls.map(({ id }) => id));
  const seen = new Set<string>();
  return calls.map((call) => {
    let { id } = call;
    for (let times = 2; seen.has(id) || (id !== call.id && given.has(id)); times++) id = `${call.id}_${times}`;
    seen.add(id);
    return id === call.id ? call : { ...call, id };
  });
}

function problemOf(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? undefined
      : "the arguments are not a JSON object";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
