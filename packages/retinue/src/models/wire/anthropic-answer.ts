/** Reads a Messages answer, as named events or as one object, as Parts. */
import * as z from "zod";
import type { FinishReason, Part, Usage } from "../provider.ts";
import type { PushPart } from "../pushed-parts.ts";
import { BlockOrder } from "./blocks.ts";
import type { HttpAnswer } from "./http.ts";
import { type AnswerReader, cutOff, isJsonObject, newCallId, parseWire, readAnswer, unexpected } from "./wire.ts";

const text = z.string().nullish().catch(undefined);
const count = z.number().nullish().catch(undefined);

const ContentBlock = z.looseObject({
  type: z.string(),
  text,
  id: text,
  name: text,
  input: z.unknown().optional(),
  thinking: text,
  signature: text,
  data: text,
});
type ContentBlock = z.infer<typeof ContentBlock>;

const MessageUsage = z.looseObject({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
});
type MessageUsage = z.infer<typeof MessageUsage>;

const WholeMessage = z.looseObject({
  id: text,
  model: text,
  content: z.array(ContentBlock),
  stop_reason: text,
  usage: MessageUsage.nullish(),
});

const Event = z.looseObject({
  type: z.string(),
  index: count,
  message: z.looseObject({ id: text, model: text, usage: MessageUsage.nullish() }).optional().catch(undefined),
  content_block: ContentBlock.optional(),
  delta: z
    .looseObject({ type: text, text, thinking: text, signature: text, partial_json: text, stop_reason: text })
    .optional(),
  usage: MessageUsage.nullish().catch(undefined),
});
type Event = z.infer<typeof Event>;

export async function readMessage(answer: HttpAnswer, author: string, push: PushPart): Promise<void> {
  const reader = new MessageReader(push);
  await readAnswer(answer, reader);
  reader.end(author);
}

/** A block that is being written. */
interface OpenBlock {
  block: ContentBlock;
  callId: string;
  pieces: string[];
}

type Call = Extract<Part, { type: "call" }>;

class MessageReader implements AnswerReader {
  readonly #push: PushPart;
  #id: string | undefined;
  #model: string | undefined;
  #stop: string | undefined;
  #isWhole = false;
  #usage: MessageUsage = {};
  readonly #order = new BlockOrder();
  readonly #calls: Call[] = [];
  readonly #open = new Map<number, OpenBlock>();

  constructor(push: PushPart) {
    this.#push = push;
  }

  event(value: unknown): void {
    const event = parseWire(Event, value);
    const at = event.index ?? 0;
    switch (event.type) {
      case "message_start":
        this.#id = event.message?.id ?? undefined;
        this.#model = event.message?.model ?? undefined;
        this.#count(event.message?.usage);
        return;
      case "content_block_start":
        if (event.content_block) this.#start(at, event.content_block);
        return;
      case "content_block_delta":
        this.#add(at, event.delta ?? {});
        return;
      case "content_block_stop":
        this.#finish(at);
        return;
      case "message_delta":
        this.#stop = event.delta?.stop_reason ?? this.#stop;
        this.#count(event.usage);
        return;
      case "message_stop":
        this.#isWhole = true;
        return;
    }
  }

  whole(value: unknown): void {
    const message = parseWire(WholeMessage, value);
    this.#id = message.id ?? undefined;
    this.#model = message.model ?? undefined;
    for (const [at, block] of message.content.entries()) {
      this.#start(at, block);
      this.#finish(at);
    }
    this.#count(message.usage);
    this.#stop = message.stop_reason ?? undefined;
    this.#isWhole = true;
  }

  #start(at: number, block: ContentBlock): void {
    const open: OpenBlock = { block, callId: block.id || newCallId(), pieces: [] };
    this.#open.set(at, open);
    if (block.type === "tool_use")
      this.#push({ type: "call_delta", id: open.callId, name: block.name ?? "", delta: "" });
    if (block.text) this.#add(at, { text: block.text });
    if (block.thinking) this.#add(at, { thinking: block.thinking });
  }

  #add(at: number, delta: NonNullable<Event["delta"]>): void {
    const open = this.#open.get(at);
    if (!open) throw unexpected("a piece of a block that was never started");
    if (delta.signature) open.block.signature = delta.signature;
    const piece = delta.text ?? delta.thinking ?? delta.partial_json;
    if (!piece) return;
    open.pieces.push(piece);
    if (delta.text) this.#push({ type: "text", delta: piece });
    else if (delta.thinking) this.#push({ type: "reasoning", delta: piece });
    else this.#push({ type: "call_delta", id: open.callId, name: open.block.name ?? "", delta: piece });
  }

  #finish(at: number): void {
    const open = this.#open.get(at);
    if (!open) return;
    this.#open.delete(at);
    const { block, callId, pieces } = open;
    const written = pieces.join("");
    switch (block.type) {
      case "text":
        this.#order.text(written.length);
        return;
      case "thinking":
        this.#order.own({ type: "thinking", thinking: written, signature: block.signature ?? "" });
        return;
      case "redacted_thinking":
        this.#order.own({ type: "redacted_thinking", data: block.data ?? "" });
        return;
      case "tool_use": {
        const args = written || JSON.stringify(block.input ?? {});
        this.#calls.push({ type: "call", id: callId, name: block.name ?? "", arguments: args });
        this.#order.call();
      }
    }
  }

  /** When an answer was cut for its length, incomplete calls are dropped and not run without arguments. */
  end(author: string): void {
    if (!this.#isWhole && this.#stop === undefined) throw cutOff();
    const calls =
      this.#stop === "max_tokens" ? this.#calls.filter((call) => isJsonObject(call.arguments)) : this.#calls;
    for (const part of [...this.#order.parts(author), ...calls]) this.#push(part);
    const reason = finishReason(this.#stop, calls.length > 0);
    const from = { ...(this.#id && { responseId: this.#id }), ...(this.#model && { model: this.#model }) };
    this.#push({ type: "end", reason, usage: usageOf(this.#usage), ...from });
  }

  /** The counts of `message_delta` are totals, and it repeats only some of those in `message_start`. */
  #count(usage: MessageUsage | null | undefined): void {
    const known = Object.entries(usage ?? {}).filter(([, value]) => typeof value === "number");
    this.#usage = { ...this.#usage, ...Object.fromEntries(known) };
  }
}

function finishReason(reason: string | undefined, hasCalls: boolean): FinishReason {
  if (reason === "max_tokens" || reason === "model_context_window_exceeded") return "length";
  if (reason === "refusal") return "filtered";
  return hasCalls ? "calls" : "stop";
}

/** This format leaves out cached tokens from the input; Usage counts the whole prompt. */
function usageOf(usage: MessageUsage): Usage {
  const cacheReadTokens = usage.cache_read_input_tokens ?? 0;
  const cacheWriteTokens = usage.cache_creation_input_tokens ?? 0;
  return {
    inputTokens: (usage.input_tokens ?? 0) + cacheReadTokens + cacheWriteTokens,
    outputTokens: usage.output_tokens ?? 0,
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens: 0,
  };
}
