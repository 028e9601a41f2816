/** Reads a Responses answer, as named events or as one object, as Parts. */
import * as z from "zod";
import { type FinishReason, NO_USAGE, type Part, type Usage } from "../provider.ts";
import type { PushPart } from "../pushed-parts.ts";
import { errorWithin } from "./api-error.ts";
import { BlockOrder } from "./blocks.ts";
import type { HttpAnswer } from "./http.ts";
import { type AnswerReader, cutOff, newCallId, parseWire, readAnswer, unexpected } from "./wire.ts";

const text = z.string().nullish().catch(undefined);
const count = z.number().nullish().catch(undefined);

const Item = z.looseObject({
  type: z.string(),
  id: text,
  call_id: text,
  name: text,
  arguments: text,
  encrypted_content: text,
  content: z
    .array(z.looseObject({ text, refusal: text }))
    .nullish()
    .catch(undefined),
  summary: z.array(z.looseObject({ text })).nullish().catch(undefined),
});
type Item = z.infer<typeof Item>;

const Response = z.looseObject({
  id: text,
  model: text,
  status: text,
  error: z.looseObject({ message: text, code: text }).nullish().catch(undefined),
  incomplete_details: z.looseObject({ reason: text }).nullish().catch(undefined),
  output: z.array(Item).nullish().catch(undefined),
  usage: z
    .looseObject({
      input_tokens: count,
      output_tokens: count,
      input_tokens_details: z.looseObject({ cached_tokens: count }).nullish(),
      output_tokens_details: z.looseObject({ reasoning_tokens: count }).nullish(),
    })
    .nullish()
    .catch(undefined),
});
type Response = z.infer<typeof Response>;

const Event = z.looseObject({
  type: z.string(),
  delta: text,
  message: text,
  code: text,
  output_index: count,
  summary_index: count,
  item: Item.optional(),
  response: Response.optional(),
});

export async function readResponse(answer: HttpAnswer, author: string, push: PushPart): Promise<void> {
  const reader = new ResponseReader(push);
  await readAnswer(answer, reader);
  reader.end(author);
}

type Call = Extract<Part, { type: "call" }>;

class ResponseReader implements AnswerReader {
  readonly #push: PushPart;
  #response: Response | undefined;
  readonly #order = new BlockOrder();
  readonly #calls: Call[] = [];
  /** Calls that are being written, by their place in the output. */
  readonly #open = new Map<number, { id: string; name: string }>();
  readonly #streamed = new Set<number>();

  constructor(push: PushPart) {
    this.#push = push;
  }

  event(value: unknown): void {
    const event = parseWire(Event, value);
    const at = event.output_index ?? 0;
    switch (event.type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        this.#streamed.add(at);
        if (event.delta) this.#push({ type: "text", delta: event.delta });
        return;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#streamed.add(at);
        if (event.delta) this.#push({ type: "reasoning", delta: event.delta });
        return;
      case "response.reasoning_summary_part.added":
        if ((event.summary_index ?? 0) > 0) this.#push({ type: "reasoning", delta: "\n\n" });
        return;
      case "response.output_item.added":
        if (event.item?.type === "function_call") this.#openCall(at, event.item);
        return;
      case "response.function_call_arguments.delta": {
        const open = this.#open.get(at);
        if (open && event.delta) this.#push({ type: "call_delta", ...open, delta: event.delta });
        return;
      }
      case "response.output_item.done":
        if (event.item) this.#finishItem(at, event.item);
        return;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        this.#response = event.response ?? {};
        return;
      case "error":
        throw errorWithin({ error: event }) ?? unexpected("an error without a message");
    }
  }

  whole(value: unknown): void {
    const response = parseWire(Response, value);
    if (!response.output && !response.error) throw unexpected("no output");
    for (const [at, item] of (response.output ?? []).entries()) this.#finishItem(at, item);
    this.#response = response;
  }

  #openCall(at: number, item: Item): void {
    const open = { id: item.call_id || newCallId(), name: item.name ?? "" };
    this.#open.set(at, open);
    this.#push({ type: "call_delta", ...open, delta: "" });
  }

  /** A finished item is complete; what was not streamed before is pushed now. */
  #finishItem(at: number, item: Item): void {
    switch (item.type) {
      case "message": {
        const words = (item.content ?? []).map((part) => part.text ?? part.refusal ?? "").join("");
        if (!this.#streamed.has(at) && words) this.#push({ type: "text", delta: words });
        this.#order.text(words.length);
        return;
      }
      case "reasoning": {
        const words = (item.summary ?? []).map((part) => part.text ?? "").join("\n\n");
        if (!this.#streamed.has(at) && words) this.#push({ type: "reasoning", delta: words });
        if (item.encrypted_content) this.#order.own(keptReasoning(item));
        return;
      }
      case "function_call": {
        const id = this.#open.get(at)?.id ?? (item.call_id || newCallId());
        this.#calls.push({ type: "call", id, name: item.name ?? "", arguments: item.arguments || "{}" });
        this.#order.call();
        return;
      }
    }
  }

  end(author: string): void {
    const response = this.#response;
    if (!response) throw cutOff();
    if (response.error) throw errorWithin({ error: response.error }) ?? unexpected("a failure without a message");
    for (const part of [...this.#order.parts(author), ...this.#calls]) this.#push(part);
    const reason = finishReason(response, this.#calls.length > 0);
    const { id, model } = response;
    this.#push({
      type: "end",
      reason,
      usage: usageOf(response),
      ...(id && { responseId: id }),
      ...(model && { model }),
    });
  }
}

/** Without its encrypted content an item is of no use to an endpoint that stores nothing. */
function keptReasoning({ id, summary, encrypted_content }: Item): unknown {
  return { type: "reasoning", id, summary: summary ?? [], encrypted_content };
}

function finishReason({ status, incomplete_details: details }: Response, hasCalls: boolean): FinishReason {
  if (status === "incomplete") return details?.reason === "content_filter" ? "filtered" : "length";
  return hasCalls ? "calls" : "stop";
}

function usageOf({ usage }: Response): Usage {
  if (!usage) return NO_USAGE;
  return {
    inputTokens: usage.input_tokens ?? 0,
    outputTokens: usage.output_tokens ?? 0,
    cacheReadTokens: usage.input_tokens_details?.cached_tokens ?? 0,
    cacheWriteTokens: 0,
    reasoningTokens: usage.output_tokens_details?.reasoning_tokens ?? 0,
  };
}
