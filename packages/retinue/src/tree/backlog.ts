/**
 * What one client is sent while it does not read: beyond a bound it loses events that are not kept, and is told so once.
 *
 * Owns the bounds. Beyond the second one the connection is closed, by the peer.
 */

/** From here on a client loses events that are not kept. Those that are kept can be read back as well, but may still come. */
export const MAX_QUEUED_BYTES = 16 * 2 ** 20;
/** From here on even kept events, answers and requests are too much. */
export const MAX_KEPT_BYTES = 2 * MAX_QUEUED_BYTES;

export class Backlog {
  readonly #queuedBytes: () => number;
  #isLosing = false;

  constructor(queuedBytes: () => number) {
    this.#queuedBytes = queuedBytes;
  }

  /** `told` is the first event that is lost: the client gets a word instead. */
  admits({ isKept }: { isKept: boolean }): "yes" | "no" | "told" {
    const queued = this.#queuedBytes();
    if (queued < MAX_QUEUED_BYTES / 2) this.#isLosing = false; // It reads again.
    if (isKept || (queued <= MAX_QUEUED_BYTES && !this.#isLosing)) return "yes";
    const isFirst = !this.#isLosing;
    this.#isLosing = true;
    return isFirst ? "told" : "no";
  }
}

export const EVENTS_LOST =
  "This client does not read what it is sent: more than 16 MB are waiting, and events that are not kept, such as streamed text, are left " +
  "out from here until it has caught up. Read what is recorded from your cursor with session.eventLog.read.";
