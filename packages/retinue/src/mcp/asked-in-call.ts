/** What a server asks while calls of it run: the time limits of the calls stand still, and the question ends with them. */
import type { ActiveCall, CallRef } from "./call-failed.ts";

export interface AskedIn {
  /** The call that it belongs to. Absent when none or several run, because servers do not name the call. */
  call: CallRef | undefined;
  /** Aborted when the server takes the question back, and when nobody waits for its calls any more. */
  signal: AbortSignal;
}

export async function askedInCall<T>(
  active: ReadonlySet<ActiveCall>,
  request: { signal: AbortSignal },
  ask: (asked: AskedIn) => Promise<T>,
): Promise<T> {
  const running = [...active];
  const resume = running.map(({ limit }) => limit.hold());
  const abandoned = new AbortController();
  const onAbort = (): void => {
    if (running.every(({ signal }) => signal.aborted)) abandoned.abort(running[0]?.signal.reason);
  };
  for (const { signal } of running) signal.addEventListener("abort", onAbort);
  if (running.length > 0) onAbort();
  try {
    return await ask({
      call: running.length === 1 ? running[0]?.call : undefined,
      signal: AbortSignal.any([request.signal, abandoned.signal]),
    });
  } finally {
    for (const { signal } of running) signal.removeEventListener("abort", onAbort);
    for (const release of resume) release();
  }
}
