/**
 * Ctrl-C and the like: the first one stops what runs, in order; the second one does not wait for anything.
 *
 * Until it is disposed of, the process lives. A run may wait for what no handle stands for, such as room on the disk; Node would end then, with the
 * exit code of a success.
 */

export const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
/** It has nothing to do. */
const LONG_MS = 60_000;
type Signal = keyof typeof EXIT_CODES;

export class Interrupts implements Disposable {
  readonly #stop = new AbortController();
  readonly #onFirst: () => void;
  readonly #alive = setInterval(() => undefined, LONG_MS);
  #by: Signal | undefined;

  constructor(onFirst: () => void) {
    this.#onFirst = onFirst;
    for (const signal of SIGNALS) process.on(signal, this.#interrupt);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** What the process ends with when it was interrupted. */
  get exitCode(): number {
    return EXIT_CODES[this.#by ?? "SIGINT"];
  }

  /** Stops the run as the first Ctrl-C does, but prints nothing. */
  stop(): void {
    this.#stop.abort();
  }

  /** After a first signal the process is on its way out, and a second one must not end it without its last words. */
  [Symbol.dispose](): void {
    clearInterval(this.#alive);
    if (this.#by) return;
    for (const signal of SIGNALS) process.off(signal, this.#interrupt);
  }

  readonly #interrupt = (signal: Signal): void => {
    if (this.#by) process.exit(EXIT_CODES[signal]); // Shells that still run are killed on exit.
    this.#by = signal;
    this.#onFirst();
    this.#stop.abort();
  };
}

/** For commands that run until they are stopped: aborted by the first signal. The next one ends the process as usual. */
export function untilStopped(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
  return stop.signal;
}

const SIGNALS: readonly Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];
