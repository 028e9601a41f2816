/** One ask that waits for its answer. It ends once: the first way to end wins. */
import { AppError } from "@retinue/protocol";
import type { Answer, Ask, AskKind } from "./kinds.ts";

/** The attached clients, seen from an ask. */
export interface Answerers {
  deliver<K extends AskKind>(ask: Ask<K>): Offered;
}

/** An ask that the attached clients have been offered. */
export interface Offered {
  /** Offers it to those that have not had it, after clients have joined or left. */
  again(): void;
  /** Withdraws it when it is settled. */
  retract(): void;
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
  #offered: Offered | undefined;

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

  /** Offers it to the clients that are attached now and have not had it. */
  offer(): void {
    if (this.#hasEnded) return;
    this.#isOffered = true;
    if (this.#offered) this.#offered.again();
    else this.#offered = this.#answerers.deliver(this.ask);
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
    this.#offered?.retract();
    this.#resolve(end);
  }
}
