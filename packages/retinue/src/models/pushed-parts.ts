/**
 * Parts that are pushed as they come, to be read one by one.
 *
 * An answer comes in thousands of parts, and each async generator on the way would cost every part some turns of the microtask queue. So
 * the wire formats push, and this is the one place where pushing becomes reading. The work begins with the first read.
 */
import type { Part } from "./provider.ts";

export type PushPart = (part: Part) => void;

type Result = IteratorResult<Part, undefined>;

export class PushedParts implements AsyncIterableIterator<Part> {
  readonly #work: (push: PushPart) => Promise<void>;
  #ready: Part[] = [];
  #at = 0;
  #waiting: { resolve(result: Result): void; reject(error: unknown): void } | undefined;
  #failure: { error: unknown } | undefined;
  #state: "new" | "open" | "ended" = "new";
  #isLeft = false;

  constructor(work: (push: PushPart) => Promise<void>) {
    this.#work = work;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    if (this.#state === "new") this.#begin();
    const part = this.#take();
    if (part) return Promise.resolve({ value: part, done: false });
    if (this.#state === "ended") return this.#end();
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  /** The reader has enough. The work finds that out with its next part. */
  async return(): Promise<Result> {
    this.#state = "ended";
    this.#isLeft = true;
    this.#ready = [];
    return { value: undefined, done: true };
  }

  #begin(): void {
    this.#state = "open";
    this.#work((part) => this.#push(part)).then(
      () => this.#settle(),
      (error: unknown) => this.#settle({ error }),
    );
  }

  #push(part: Part): void {
    if (this.#isLeft) throw new Error("Nobody reads this answer any more");
    const waiting = this.#waiting;
    if (!waiting) {
      this.#ready.push(part);
      return;
    }
    this.#waiting = undefined;
    waiting.resolve({ value: part, done: false });
  }

  #take(): Part | undefined {
    const part = this.#ready[this.#at++];
    if (part) return part;
    this.#ready = [];
    this.#at = 0;
    return undefined;
  }

  #settle(failure?: { error: unknown }): void {
    this.#state = "ended";
    if (!this.#isLeft) this.#failure = failure;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) this.#end().then(waiting.resolve, waiting.reject);
  }

  /** An error is thrown once. */
  async #end(): Promise<Result> {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure) throw failure.error;
    return { value: undefined, done: true };
  }
}
