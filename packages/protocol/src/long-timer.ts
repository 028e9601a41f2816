/**
 * Timers of any length. Those of Node and of browsers take a 32-bit number of milliseconds, and fire at once when they are given more:
 * a limit of thirty days would be one of a millisecond.
 */

/** About 24.8 days. */
const LONGEST_MS = 2 ** 31 - 1;

export interface LongTimer {
  clear(): void;
}

/** Calls `act` after `ms`, however many that are; never when they are infinite. `isIdle`: it does not keep a process alive. */
export function longTimer(act: () => void, ms: number, { isIdle = false }: { isIdle?: boolean } = {}): LongTimer {
  let left = ms;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    const step = Math.min(left, LONGEST_MS);
    left -= step;
    timer = setTimeout(() => (left > 0 ? wait() : act()), step);
    if (isIdle && typeof timer === "object") timer.unref();
  };
  if (ms < Number.POSITIVE_INFINITY) wait();
  return { clear: () => clearTimeout(timer) };
}

/** A signal that aborts after `ms`, like `AbortSignal.timeout`. */
export function timeoutSignal(ms: number): AbortSignal {
  if (ms <= LONGEST_MS) return AbortSignal.timeout(ms);
  const controller = new AbortController();
  const late = () => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  longTimer(late, ms, { isIdle: true });
  return controller.signal;
}
