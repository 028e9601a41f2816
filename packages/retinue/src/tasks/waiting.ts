/** Those who wait for something to happen to a task, and how they are woken. */
export class Waiting {
  readonly #wakers = new Set<() => void>();
  #count = 0;

  /** Whether somebody waits for the result in a call, and so needs no notice of it. */
  get isAwaited(): boolean {
    return this.#count > 0;
  }

  /** Something has happened: everybody looks again. */
  wake(): void {
    const wakers = [...this.#wakers];
    this.#wakers.clear();
    for (const wake of wakers) wake();
  }

  /** Resolves at the next change. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#wakers.add(resolve));
  }

  /** Looks after every change until there is something to see; undefined when the time is over. Rejects when the signal is aborted. */
  async until<T>(look: () => T | undefined, { timeoutMs, signal }: WaitLimits): Promise<T | undefined> {
    this.#count++;
    let isOver = false;
    const onAbort = () => this.wake();
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => {
            isOver = true;
            this.wake();
          }, timeoutMs);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        const seen = look();
        if (seen !== undefined || isOver) return seen;
        await this.change();
      }
    } finally {
      this.#count--;
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }
}

export interface WaitLimits {
  timeoutMs?: number;
  signal: AbortSignal;
}
