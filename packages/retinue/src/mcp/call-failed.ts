/** A running call of a server's tool, and a name for each way in which it can end without a result. */
import type { TimeLimit } from "./time-limit.ts";

/** The call that a server's progress and questions belong to. */
export interface CallRef {
  sessionId: string;
  callId: string;
}

export interface CallOptions {
  call: CallRef;
  signal: AbortSignal;
  limitMs: number;
  meta?: Readonly<Record<string, unknown>>;
  onProgress?(message: string): void;
}

/** A call that runs now. */
export interface ActiveCall {
  call: CallRef;
  limit: TimeLimit;
  /** Aborted when nobody waits for it any more. */
  signal: AbortSignal;
}

export class CallFailed extends Error {
  override readonly name = "CallFailed";
  readonly kind: "timeout" | "cancelled" | "server_ended" | "server_error" | "needs_auth";

  constructor(kind: CallFailed["kind"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Waits for `work`, but only until the call is cancelled. */
export function unlessCancelled<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new CallFailed("cancelled", "the call was cancelled"));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
