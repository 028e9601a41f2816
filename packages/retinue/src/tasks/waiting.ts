/** The callers that wait for a change of a task, and how they are woken. */
import { longTimer } from "@retinue/protocol";
export class Waiting {
  readonly #wakers = new Set<() => void>();
  #count = 0;

  /** Whether a call waits for the result, so that no notice is needed. */
  get isAwaited(): boolean {
    return this.#count > 0;
  }

  /** The task has changed: every waiting caller checks again. */
  wake(): void {
    const wakers = [...this.#wakers];
    this.#wakers.clear();
    for (const wake of wakers) wake();
  }

  /** Resolves at the next change. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#wakers.add(resolve));
  }

  /** Checks after every change until there is a value; undefined at the time limit. Rejects when the signal is aborted. */
  async until<T>(look: () => T | undefined, { timeoutMs, isBystander, signal }: WaitLimits): Promise<T | undefined> {
    const counts = isBystander ? 0 : 1;
    this.#count += counts;
    let isOver = false;
    const onAbort = () => this.wake();
    const timer =
      timeoutMs === undefined
        ? undefined
        : longTimer(() => {
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
      this.#count -= counts;
      timer?.clear();
      signal.removeEventListener("abort", onAbort);
    }
  }
}

export interface WaitLimits {
  timeoutMs?: number;
  /** Only wants to know that something has changed: whoever needs the result is notified all the same. */
  isBystander?: boolean;
  signal: AbortSignal;
}
