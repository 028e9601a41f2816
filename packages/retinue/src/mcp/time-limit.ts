/** A time limit that can be extended: it starts over with each progress report, and is paused while a person is asked. */
import { type LongTimer, longTimer } from "@retinue/protocol";

/** For the library, whose own time limits are switched off: TimeLimit is the one that counts. */
export const NO_LIMIT_MS = 2 ** 31 - 1;

export class TimeLimit {
  readonly #ms: number;
  readonly #controller = new AbortController();
  #timer: LongTimer | undefined;
  #holds = 0;

  constructor(ms: number) {
    this.#ms = ms;
    this.restart();
  }

  get ms(): number {
    return this.#ms;
  }

  /** Aborted when the time is up. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    this.#timer?.clear();
    if (this.#holds === 0) this.#timer = longTimer(() => this.#controller.abort(), this.#ms);
  }

  /** Pauses the limit until every hold is released. */
  hold(): () => void {
    this.#holds += 1;
    this.#timer?.clear();
    return () => {
      this.#holds -= 1;
      this.restart();
    };
  }

  clear(): void {
    this.#timer?.clear();
    this.#holds = Infinity;
  }
}
