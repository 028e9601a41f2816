/**
 * A store that refuses to write: who waits until it is back, and when it is tried again.
 *
 * Owns the pauses between tries. What is written is the log's; what a session is told is host/store-failure.ts.
 */
import { AppError } from "@retinue/protocol";

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 5_000;

/** Whether the same thing may be tried again: the disk was full, the file locked or out of reach. */
export function isOutage(error: unknown): error is AppError {
  return error instanceof AppError && error.code === "store_unavailable";
}

/** How long to wait before the next try, after so many that failed. */
export function pauseAfter(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
}

/** Tries until it succeeds or fails for good, with growing pauses. They do not keep the process alive. Never rejects. */
export function tryAgain(work: () => Promise<unknown>, failures = 1): void {
  setTimeout(() => {
    work().catch((error: unknown) => {
      if (isOutage(error)) tryAgain(work, failures + 1);
    });
  }, pauseAfter(failures)).unref();
}

export class Outage {
  readonly #retry: () => void;
  readonly #waiting = new Set<{ resolve(): void; reject(error: AppError): void }>();
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(retry: () => void) {
    this.#retry = retry;
  }

  get isOn(): boolean {
    return this.#failures > 0;
  }

  /** True when it is the first failure in a row. */
  failed(): boolean {
    this.#failures++;
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(this.#retry, pauseAfter(this.#failures)).unref();
    return this.#failures === 1;
  }

  over(): void {
    this.#failures = 0;
    clearTimeout(this.#timer);
    for (const { resolve } of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Resolves when the store is back. Rejects with the error when the signal is aborted, and when nobody tries any more. */
  async wait(error: AppError, signal?: AbortSignal): Promise<void> {
    if (this.#isClosed || signal?.aborted) throw error;
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => waiter.reject(error);
      const settled = () => {
        this.#waiting.delete(waiter);
        signal?.removeEventListener("abort", onAbort);
      };
      const waiter = {
        resolve() {
          settled();
          resolve();
        },
        reject(reason: AppError) {
          settled();
          reject(reason);
        },
      };
      this.#waiting.add(waiter);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Nobody waits any more; the log is tried only when it is asked. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const error = new AppError("store_unavailable", "The session was closed before the store could be written.");
    for (const { reject } of [...this.#waiting]) reject(error);
  }
}
