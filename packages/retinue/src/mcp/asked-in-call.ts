/** What a server asks while calls of it run: the time limits of the calls stand still, and the question ends with them. */
import { setMaxListeners } from "node:events";
import type { ActiveCall, CallRef } from "./call-failed.ts";

export interface AskedIn {
  /** The call that it belongs to. Absent when none or several run, because servers do not name the call. */
  call: CallRef | undefined;
  /** Aborted when the server takes the question back, and when nobody waits for its calls any more. */
  signal: AbortSignal;
}

/** For each call that runs, and for each task. Nobody reads more. */
const MAX_OPEN = 16;
/** How many questions are open, by whom they are for: the running calls of a server, or one of its tasks. */
const open = new WeakMap<object, number>();

/** A question that no call waits for: the time limits of those that happen to run go on. */
export async function askedForTask<T>(task: object, ask: () => Promise<T>): Promise<T> {
  return await amongFew(task, MAX_OPEN, ask);
}

export async function askedInCall<T>(
  active: ReadonlySet<ActiveCall>,
  request: { signal: AbortSignal },
  ask: (asked: AskedIn) => Promise<T>,
): Promise<T> {
  const running = [...active];
  return await amongFew(active, MAX_OPEN * Math.max(1, running.length), () => whileHeld(running, request, ask));
}

async function whileHeld<T>(
  running: readonly ActiveCall[],
  request: { signal: AbortSignal },
  ask: (asked: AskedIn) => Promise<T>,
): Promise<T> {
  const resume = running.map(({ limit }) => limit.hold());
  const abandoned = new AbortController();
  const onAbort = (): void => {
    if (running.every(({ signal }) => signal.aborted)) abandoned.abort(running[0]?.signal.reason);
  };
  for (const { signal } of running) {
    setMaxListeners(0, signal); // One for each question, and they are removed.
    signal.addEventListener("abort", onAbort);
  }
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

async function amongFew<T>(whom: object, most: number, ask: () => Promise<T>): Promise<T> {
  const others = open.get(whom) ?? 0;
  if (others >= most) throw new Error("too many questions at once: wait for the answers to the others");
  open.set(whom, others + 1);
  try {
    return await ask();
  } finally {
    open.set(whom, (open.get(whom) ?? 1) - 1);
  }
}
