/** A time limit that can be extended: it starts over with each progress report, and is paused while a person is asked. */
export class TimeLimit {
  readonly #ms: number;
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;
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
    clearTimeout(this.#timer);
    if (this.#holds === 0) this.#timer = setTimeout(() => this.#controller.abort(), this.#ms);
  }

  /** Pauses the limit until every hold is released. */
  hold(): () => void {
    this.#holds += 1;
    clearTimeout(this.#timer);
    return () => {
      this.#holds -= 1;
      this.restart();
    };
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#holds = Infinity;
  }
}
