/** Reads a chat completions answer, streamed in chunks or as one object, as Parts. */
import * as z from "zod";
import { type FinishReason, NO_USAGE, type Usage } from "../provider.ts";
import type { PushPart } from "../pushed-parts.ts";
import type { HttpAnswer } from "./http.ts";
import { CallPiece, ToolCallPieces } from "./openai-chat-calls.ts";
import { type AnswerReader, cutOff, isObject, parseWire, readAnswer, unexpected } from "./wire.ts";

const text = z.string().nullish().catch(undefined);
const count = z.number().nullish().catch(undefined);

const Delta = z.looseObject({
  content: z
    .union([z.string(), z.array(z.looseObject({ text }))])
    .nullish()
    .catch(undefined),
  refusal: text,
  reasoning_content: text,
  /** The same under the name that some gateways use. */
  reasoning: text,
  tool_calls: z.array(CallPiece).nullish().catch(undefined),
});

const ChatUsage = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: z.looseObject({ cached_tokens: count }).nullish(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: count }).nullish(),
});

const Chunk = z.looseObject({
  id: text,
  model: text,
  choices: z
    .array(z.looseObject({ delta: Delta.nullish(), message: Delta.nullish(), finish_reason: text }))
    .nullish()
    .catch(undefined),
  usage: ChatUsage.nullish().catch(undefined),
});

export async function readChatAnswer(answer: HttpAnswer, push: PushPart): Promise<void> {
  const reader = new ChatReader(push);
  await readAnswer(answer, reader);
  reader.end();
}

class ChatReader implements AnswerReader {
  readonly #push: PushPart;
  #isComplete = false;
  #finish: string | undefined;
  #id: string | undefined;
  #model: string | undefined;
  #usage: Usage = NO_USAGE;
  #calls = new ToolCallPieces();

  constructor(push: PushPart) {
    this.#push = push;
  }

  endMark(): void {
    this.#isComplete = true;
  }

  event(value: unknown): void {
    const words = this.#id === undefined ? undefined : plainText(value);
    if (words === undefined) this.#read(value);
    else if (words !== "") this.#push({ type: "text", delta: words });
  }

  whole(value: unknown): void {
    if (!this.#read(value)) throw unexpected("no choices");
    this.#isComplete = true;
  }

  /** Whether it held a choice. */
  #read(value: unknown): boolean {
    const { id, model, choices, usage } = parseWire(Chunk, value);
    this.#id ??= id || undefined;
    this.#model ??= model || undefined;
    if (usage) this.#usage = usageOf(usage);
    const [choice] = choices ?? [];
    if (!choice) return false;
    const delta = choice.delta ?? choice.message;
    if (delta) this.#readDelta(delta);
    if (choice.finish_reason) this.#finish = choice.finish_reason;
    return true;
  }

  #readDelta(delta: z.infer<typeof Delta>): void {
    const reasoning = delta.reasoning_content || delta.reasoning;
    if (reasoning) this.#push({ type: "reasoning", delta: reasoning });
    const words = contentOf(delta.content) || delta.refusal;
    if (words) this.#push({ type: "text", delta: words });
    for (const piece of delta.tool_calls ?? []) {
      const part = this.#calls.add(piece);
      if (part) this.#push(part);
    }
  }

  /** One end mark is enough: endpoints leave out `[DONE]` or `finish_reason`, seldom both. */
  end(): void {
    if (!this.#isComplete && this.#finish === undefined) throw cutOff();
    const calls = this.#calls.finished({ wasCut: this.#finish === "length" });
    for (const call of calls) this.#push(call);
    const reason = finishReason(this.#finish, calls.length > 0);
    this.#push({ type: "end", reason, usage: this.#usage, ...from(this.#id, this.#model) });
  }
}

/**
 * The words of a chunk that holds a piece of text and nothing else, as nearly all chunks do. Anything that is not plainly so is left to the
 * schema, which takes longer than all the rest of reading.
 */
function plainText(value: unknown): string | undefined {
  if (!isObject(value) || value.usage || !Array.isArray(value.choices) || value.choices.length !== 1) return undefined;
  const choice: unknown = value.choices[0];
  if (!isObject(choice) || choice.finish_reason || !isObject(choice.delta)) return undefined;
  const { delta } = choice;
  for (const name in delta) if (name !== "content" && name !== "role") return undefined;
  return typeof delta.content === "string" ? delta.content : undefined;
}

const from = (id: string | undefined, model: string | undefined) => ({
  ...(id && { responseId: id }),
  ...(model && { model }),
});

function contentOf(content: z.infer<typeof Delta>["content"]): string {
  if (!content) return "";
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
}

/** Endpoints disagree on the reason of an answer with calls, so the calls decide. */
function finishReason(reason: string | undefined, hasCalls: boolean): FinishReason {
  if (reason === "length") return "length";
  if (reason === "content_filter") return "filtered";
  return hasCalls ? "calls" : "stop";
}

function usageOf(usage: z.infer<typeof ChatUsage>): Usage {
  return {
    inputTokens: usage.prompt_tokens ?? 0,
    outputTokens: usage.completion_tokens ?? 0,
    cacheReadTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    cacheWriteTokens: 0,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}
