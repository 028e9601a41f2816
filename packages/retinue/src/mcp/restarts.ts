/** When a server that went away is started again by itself: soon at first, then more and more rarely, and at last not at all. */

/** After each failure in a row. A call starts the server at once, whatever the delay. */
export const RESTART_DELAYS_MS: readonly number[] = [1000, 2000, 4000, 8000, 16_000, 32_000];
/** One that ran for so long has recovered: its next failure is the first again. */
const RECOVERED_MS = 60_000;

export class Restarts {
  readonly #delaysMs: readonly number[];
  readonly #restart: () => void;
  #failures = 0;
  #connectedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(delaysMs: readonly number[], restart: () => void) {
    this.#delaysMs = delaysMs;
    this.#restart = restart;
  }

  /** A server that never ran is not started again by itself: most likely its configuration is wrong. */
  get isUnderWay(): boolean {
    return this.#failures > 0;
  }

  connected(): void {
    this.cancel();
    this.#connectedAt = performance.now();
  }

  lost(): void {
    if (performance.now() - this.#connectedAt >= RECOVERED_MS) this.#failures = 0;
    this.failed();
  }

  failed(): void {
    this.cancel();
    const delay = this.#delaysMs[this.#failures];
    this.#failures += 1;
    if (delay !== undefined) this.#timer = setTimeout(this.#restart, delay).unref();
  }

  /** Somebody starts it now, or wants it to stay as it is. */
  cancel(): void {
    clearTimeout(this.#timer);
  }

  reset(): void {
    this.cancel();
    this.#failures = 0;
  }
}
