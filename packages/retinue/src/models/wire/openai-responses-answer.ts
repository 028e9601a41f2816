/** Reads a Responses answer, as named events or as one object, as Parts. */
import * as z from "zod";
import { type FinishReason, NO_USAGE, type Part, type Usage } from "../provider.ts";
import { errorWithin } from "./api-error.ts";
import { BlockOrder } from "./blocks.ts";
import { type Answer, cutOff, newCallId, parseWire, unexpected } from "./wire.ts";

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
type Event = z.infer<typeof Event>;

export async function* readResponse(answer: Answer, author: string): AsyncGenerator<Part> {
  const reader = new ResponseReader();
  if (answer.type === "whole") yield* reader.readWhole(parseWire(Response, answer.body));
  else {
    for await (const value of answer.events) if (value !== undefined) yield* reader.read(parseWire(Event, value));
  }
  yield* reader.end(author);
}

type Call = Extract<Part, { type: "call" }>;

class ResponseReader {
  #response: Response | undefined;
  readonly #order = new BlockOrder();
  readonly #calls: Call[] = [];
  /** Calls that are being written, by their place in the output. */
  readonly #open = new Map<number, { id: string; name: string }>();
  readonly #streamed = new Set<number>();

  *read(event: Event): Generator<Part> {
    const at = event.output_index ?? 0;
    switch (event.type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        this.#streamed.add(at);
        if (event.delta) yield { type: "text", delta: event.delta };
        return;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#streamed.add(at);
        if (event.delta) yield { type: "reasoning", delta: event.delta };
        return;
      case "response.reasoning_summary_part.added":
        if ((event.summary_index ?? 0) > 0) yield { type: "reasoning", delta: "\n\n" };
        return;
      case "response.output_item.added":
        if (event.item?.type === "function_call") yield* this.#openCall(at, event.item);
        return;
      case "response.function_call_arguments.delta": {
        const open = this.#open.get(at);
        if (open && event.delta) yield { type: "call_delta", ...open, delta: event.delta };
        return;
      }
      case "response.output_item.done":
        if (event.item) yield* this.#finishItem(at, event.item);
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

  *readWhole(response: Response): Generator<Part> {
    if (!response.output && !response.error) throw unexpected("no output");
    for (const [at, item] of (response.output ?? []).entries()) yield* this.#finishItem(at, item);
    this.#response = response;
  }

  *#openCall(at: number, item: Item): Generator<Part> {
    const open = { id: item.call_id || newCallId(), name: item.name ?? "" };
    this.#open.set(at, open);
    yield { type: "call_delta", ...open, delta: "" };
  }

  /** A finished item is complete; what was not streamed before is yielded now. */
  *#finishItem(at: number, item: Item): Generator<Part> {
    switch (item.type) {
      case "message": {
        const words = (item.content ?? []).map((part) => part.text ?? part.refusal ?? "").join("");
        if (!this.#streamed.has(at) && words) yield { type: "text", delta: words };
        this.#order.text(words.length);
        return;
      }
      case "reasoning": {
        const words = (item.summary ?? []).map((part) => part.text ?? "").join("\n\n");
        if (!this.#streamed.has(at) && words) yield { type: "reasoning", delta: words };
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

  *end(author: string): Generator<Part> {
    const response = this.#response;
    if (!response) throw cutOff();
    if (response.error) throw errorWithin({ error: response.error }) ?? unexpected("a failure without a message");
    yield* this.#order.parts(author);
    yield* this.#calls;
    const reason = finishReason(response, this.#calls.length > 0);
    const { id, model } = response;
    yield { type: "end", reason, usage: usageOf(response), ...(id && { responseId: id }), ...(model && { model }) };
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
