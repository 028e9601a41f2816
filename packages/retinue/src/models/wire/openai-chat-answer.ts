/** Reads a chat completions answer, streamed in chunks or as one object, as Parts. */
import * as z from "zod";
import { type FinishReason, NO_USAGE, type Part, type Usage } from "../provider.ts";
import { CallPiece, ToolCallPieces } from "./openai-chat-calls.ts";
import { type Answer, cutOff, parseWire, unexpected } from "./wire.ts";

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

export async function* readChatAnswer(answer: Answer): AsyncGenerator<Part> {
  const reader = new ChatReader();
  if (answer.type === "whole") {
    yield* reader.read(answer.body);
    if (!reader.sawChoice) throw unexpected("no choices");
  } else {
    for await (const event of answer.events) {
      if (event === undefined) reader.sawEndMark();
      else yield* reader.read(event);
    }
    if (!reader.isComplete) throw cutOff();
  }
  yield* reader.end();
}

class ChatReader {
  sawChoice = false;
  #done = false;
  #finish: string | undefined;
  #id: string | undefined;
  #model: string | undefined;
  #usage: Usage = NO_USAGE;
  #calls = new ToolCallPieces();

  /** One end mark is enough: endpoints leave out `[DONE]` or `finish_reason`, seldom both. */
  get isComplete(): boolean {
    return this.#done || this.#finish !== undefined;
  }

  sawEndMark(): void {
    this.#done = true;
  }

  *read(value: unknown): Generator<Part> {
    const { id, model, choices, usage } = parseWire(Chunk, value);
    this.#id ??= id || undefined;
    this.#model ??= model || undefined;
    if (usage) this.#usage = usageOf(usage);
    const [choice] = choices ?? [];
    if (!choice) return;
    this.sawChoice = true;
    const delta = choice.delta ?? choice.message;
    if (delta) yield* this.#readDelta(delta);
    if (choice.finish_reason) this.#finish = choice.finish_reason;
  }

  *#readDelta(delta: z.infer<typeof Delta>): Generator<Part> {
    const reasoning = delta.reasoning_content || delta.reasoning;
    if (reasoning) yield { type: "reasoning", delta: reasoning };
    const words = contentOf(delta.content) || delta.refusal;
    if (words) yield { type: "text", delta: words };
    for (const piece of delta.tool_calls ?? []) yield* this.#calls.add(piece);
  }

  *end(): Generator<Part> {
    const calls = this.#calls.finished({ wasCut: this.#finish === "length" });
    yield* calls;
    const reason = finishReason(this.#finish, calls.length > 0);
    yield { type: "end", reason, usage: this.#usage, ...from(this.#id, this.#model) };
  }
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
