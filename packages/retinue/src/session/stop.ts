/** Why a run is stopped. It is passed as the reason of the abort signal. */

export type StopType =
  /** The user stopped everything. */
  | "abort"
  /** The user stopped the main turn only. */
  | "interrupt"
  /** A task was cancelled by its parent, by a limit or by a person. */
  | "cancel"
  /** Parked: open calls and asks stay open in the log, so that a resumed session can go on. */
  | "suspend"
  | "shutdown";

export class Stop extends Error {
  override readonly name = "Stop";
  readonly type: StopType;
  readonly reason: string;

  constructor(type: StopType, reason: string) {
    super(`stopped: ${reason}`);
    this.type = type;
    this.reason = reason;
  }

  /** Whether open calls stay open in the log. */
  get isParked(): boolean {
    return this.type === "suspend" || this.type === "shutdown";
  }
}

export function stopOf(signal: AbortSignal): Stop | undefined {
  if (!signal.aborted) return undefined;
  return signal.reason instanceof Stop ? signal.reason : new Stop("abort", "user_initiated");
}
