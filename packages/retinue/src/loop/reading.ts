/**
 * A model's answer as it streams in: its parts are announced as they come and collected into one `Answer`.
 *
 * A provider may fail half-way and start again; then the deltas sent so far belong to a message that is never completed.
 */
import type { EventData } from "@retinue/protocol";
import { type ModelCall, NO_USAGE, type Part, type Reasoning, type Usage } from "../models/provider.ts";
import type { CallIds } from "../session/call-ids.ts";
import type { Agent } from "./agent.ts";

export interface Answer {
  text: string;
  calls: readonly ModelCall[];
  /** Why the arguments of a call could not be parsed, by call id. */
  badArguments: ReadonlyMap<string, string>;
  finish: "stop" | "calls" | "length" | "filtered";
  reasoning?: Reasoning;
  usage: Usage;
  messageId: string;
}

export class Reading {
  readonly #agent: Agent;
  readonly #isStreaming: boolean;
  #messageId: string;
  #text: string[] = [];
  #reasoning: string[] = [];
  #reasoningId: string | undefined;
  #blocks: Reasoning["blocks"];
  #calls: ModelCall[] = [];
  /** By the id of the endpoint, the one that its call has here. */
  readonly #claimed = new Map<string, string>();
  #hasBegun = false;
  #bytes = 0;
  #announcedBytes = 0;
  /** Of this attempt: texts, pieces of calls, whole calls. */
  #written = { text: 0, pieces: 0, calls: 0 };
  responseId: string | undefined;
  /** The model that the endpoint says has answered. */
  model: string | undefined;
  finish: Answer["finish"] = "stop";
  usage: Usage = NO_USAGE;
  firstPartAt: number | undefined;

  constructor(agent: Agent) {
    this.#agent = agent;
    this.#isStreaming = agent.settings.streaming && agent.settings.includeDeltas;
    this.#messageId = agent.session.world.newId();
  }

  get reasoningId(): string | undefined {
    return this.#reasoningId;
  }

  /** Bytes of this attempt's answer so far. Calls come in pieces and whole, or only whole. */
  get written(): number {
    const { text, pieces, calls } = this.#written;
    return text + Math.max(pieces, calls);
  }

  /** The request failed half-way and is made again, with a new message id. */
  restart(): void {
    this.#messageId = this.#agent.session.world.newId();
    this.#text = [];
    this.#reasoning = [];
    this.#reasoningId = undefined;
    this.#blocks = undefined;
    for (const id of [...this.#claimed.values(), ...this.#calls.map(({ id }) => id)]) this.#callIds.release(id);
    this.#claimed.clear();
    this.#calls = [];
    this.#hasBegun = false;
    this.#written = { text: 0, pieces: 0, calls: 0 };
  }

  get #callIds(): CallIds {
    return this.#agent.session.root.state.callIds;
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
        this.#written.pieces += Buffer.byteLength(part.delta);
        this.#countBytes(part.delta.length);
        this.#announce("assistant.tool_call_delta", {
          toolCallId: this.#idOf(part.id),
          toolName: part.name,
          toolType: "function",
          inputDelta: part.delta,
        });
        return;
      case "call":
        this.#written.calls += Buffer.byteLength(part.arguments);
        this.#calls.push({ id: this.#nextId(part.id), name: part.name, arguments: part.arguments });
        return;
      case "end":
        this.finish = part.reason;
        this.usage = part.usage;
        this.responseId = part.responseId;
        this.model = part.model;
        return;
      default:
        part satisfies never;
    }
  }

  end(): Answer {
    const badArguments = new Map<string, string>();
    const calls = this.#calls.map((call) => {
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
      reasoning: reasoning || this.#blocks ? { text: reasoning || undefined, blocks: this.#blocks } : undefined,
    };
  }

  #onText(delta: string): void {
    this.#text.push(delta);
    this.#written.text += Buffer.byteLength(delta);
    if (!this.#isStreaming) return;
    this.#countBytes(delta.length);
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#announce("assistant.message_start", { messageId: this.#messageId });
    }
    const { parentCallId } = this.#agent.session;
    this.#announce("assistant.message_delta", {
      messageId: this.#messageId,
      deltaContent: delta,
      parentToolCallId: parentCallId,
    });
  }

  #onReasoning(delta: string): void {
    this.#reasoning.push(delta);
    this.#written.text += Buffer.byteLength(delta);
    this.#reasoningId ??= this.#agent.session.world.newId();
    this.#announce("assistant.reasoning_delta", { reasoningId: this.#reasoningId, deltaContent: delta });
  }

  /** Pieces of a call come before it, under the id that it will have. */
  #idOf(given: string): string {
    const id = this.#claimed.get(given) ?? this.#callIds.claim(given);
    this.#claimed.set(given, id);
    return id;
  }

  /** An endpoint may give one id to two calls of an answer. */
  #nextId(given: string): string {
    const id = this.#idOf(given);
    return this.#calls.some((call) => call.id === id) ? this.#callIds.claim(given) : id;
  }

  /** Announces the running size now and then, not with every delta. */
  #countBytes(count: number): void {
    this.#bytes += count;
    if (this.#announcedBytes > 0 && this.#bytes - this.#announcedBytes < 4096) return;
    this.#announcedBytes = this.#bytes;
    this.#announce("assistant.streaming_delta", { totalResponseSizeBytes: this.#bytes });
  }

  #announce<
    T extends
      | "assistant.message_start"
      | "assistant.message_delta"
      | "assistant.reasoning_delta"
      | "assistant.tool_call_delta"
      | "assistant.streaming_delta",
  >(type: T, data: EventData<T>): void {
    if (this.#isStreaming) this.#agent.session.announce(type, data);
  }
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
