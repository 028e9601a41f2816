/**
 * The order of an answer whose reasoning goes back to its provider.
 *
 * Providers check that their own blocks (signed thinking, encrypted reasoning) come back unchanged and in their place among text
 * and calls. A message keeps text and calls apart, so the kept items hold the provider's blocks with marks between them: how
 * much text, then which kind follows.
 */
import type { AssistantMessage, ModelCall, Part } from "../provider.ts";

type Mark = { mark: "text"; length: number } | { mark: "call" };

export type Block = { type: "own"; item: unknown } | { type: "text"; text: string } | { type: "call"; call: ModelCall };

/** Notes the order while an answer is read. */
export class BlockOrder {
  readonly #items: unknown[] = [];
  #hasOwn = false;

  own(item: unknown): void {
    this.#hasOwn = true;
    this.#items.push(item);
  }

  text(length: number): void {
    if (length > 0) this.#items.push({ mark: "text", length } satisfies Mark);
  }

  call(): void {
    this.#items.push({ mark: "call" } satisfies Mark);
  }

  /** Nothing when the provider gave no blocks of its own: text and calls are in the message anyway. */
  *parts(provider: string): Generator<Part> {
    if (this.#hasOwn) yield { type: "reasoning_blocks", provider, items: this.#items };
  }
}

/** The message in its original order for the provider that wrote it; for another provider, without the blocks. */
export function blocksOf(message: AssistantMessage, provider: string): Block[] {
  const { text, calls, reasoning } = message;
  const items = reasoning?.blocks?.provider === provider ? reasoning.blocks.items : [];
  const blocks: Block[] = [];
  let textAt = 0;
  let callAt = 0;
  for (const item of items) {
    if (!isMark(item)) blocks.push({ type: "own", item });
    else if (item.mark === "text") {
      blocks.push({ type: "text", text: text.slice(textAt, textAt + item.length) });
      textAt += item.length;
    } else blocks.push(...calls.slice(callAt, ++callAt).map((call): Block => ({ type: "call", call })));
  }
  blocks.push({ type: "text", text: text.slice(textAt) });
  blocks.push(...calls.slice(callAt).map((call): Block => ({ type: "call", call })));
  return blocks.filter((block) => block.type !== "text" || block.text.trim() !== "");
}

function isMark(item: unknown): item is Mark {
  return typeof item === "object" && item !== null && "mark" in item;
}
