/** One ask that waits for its answer. It ends once: the first way to end wins. */
import { AppError } from "@retinue/protocol";
import type { Answer, Ask, AskKind } from "./kinds.ts";

/** The attached clients, seen from an ask. */
export interface Answerers {
  /**
   * Sends an ask to the clients that take it as a request; the others have the event. Returns a function that withdraws the requests
   * when the ask is settled otherwise.
   */
  deliver<K extends AskKind>(ask: Ask<K>): (() => void) | undefined;
}

type End<K extends AskKind> = { type: "answered"; answer: Answer<K> } | { type: "withdrawn" };

export class OpenAsk<K extends AskKind> {
  readonly ask: Ask<K>;
  readonly #answerers: Answerers;
  readonly #onEnd: () => void;
  readonly #ended: Promise<End<K>>;
  #resolve: (end: End<K>) => void = () => undefined;
  #hasEnded = false;
  #isOffered = false;
  #retract: (() => void) | undefined;

  constructor(ask: Ask<K>, { answerers, onEnd }: { answerers: Answerers; onEnd: () => void }) {
    this.ask = ask;
    this.#answerers = answerers;
    this.#onEnd = onEnd;
    this.#ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get isOffered(): boolean {
    return this.#isOffered;
  }

  /** Offers it to the clients that are attached now, and withdraws it from those that had it before. */
  offer(): void {
    if (this.#hasEnded) return;
    this.#isOffered = true;
    this.#retract?.();
    this.#retract = this.#answerers.deliver(this.ask);
  }

  answered(answer: Answer<K>): void {
    this.#end({ type: "answered", answer });
  }

  withdraw(): void {
    this.#end({ type: "withdrawn" });
  }

  /** Rejects when it was withdrawn. */
  async answer(): Promise<Answer<K>> {
    const end = await this.#ended;
    if (end.type === "answered") return end.answer;
    throw new AppError("cancelled", `The ${this.ask.kind} ${this.ask.requestId} was withdrawn`);
  }

  #end(end: End<K>): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onEnd();
    this.#retract?.();
    this.#resolve(end);
  }
}
