/**
 * The token of one server: whether what a client shows is right, and how long a client waits before it may be told.
 *
 * Shared by all connections of the server, because somebody who guesses opens a new one for every guess. The wait is for everybody, so
 * that guesses on many connections at once are slowed as well, and short, so that it never locks out a client that knows the token.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { AppError } from "@retinue/protocol/errors";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 4_000;
/** Wrong tokens of the whole server that slow nobody down: a few clients may be configured wrongly. One is forgotten every second. */
const TOLERATED = 10;
const SHARED_STEP_MS = 50;
const LONGEST_SHARED_WAIT_MS = 1_000;
const FORGOTTEN_AFTER_MS = 1_000;
/** However many there were, a minute later nobody waits for them. */
const MOST_REMEMBERED = 60;

export class TokenCheck {
  readonly #expected: Buffer;
  readonly #now: () => number;
  readonly #firstWaitMs: number;
  /** Wrong tokens that are not forgotten yet, at the time when that was last worked out. */
  #wrong = 0;
  #at = 0;

  constructor(
    token: string,
    { now = Date.now, firstWaitMs = FIRST_WAIT_MS }: { now?: () => number; firstWaitMs?: number } = {},
  ) {
    if (token === "") throw new AppError("not_configured", "A connection token must not be empty.");
    this.#expected = digest(token);
    this.#now = now;
    this.#firstWaitMs = firstWaitMs;
  }

  /** How long a connection that has shown this many wrong tokens waits until its next one is looked at. */
  waitMs(wrongBefore: number): number {
    const own = wrongBefore === 0 ? 0 : Math.min(LONGEST_WAIT_MS, this.#firstWaitMs * 2 ** (wrongBefore - 1));
    const shared = Math.min(LONGEST_SHARED_WAIT_MS, Math.max(0, this.#remembered() - TOLERATED) * SHARED_STEP_MS);
    return Math.max(own, shared);
  }

  isRight(shown: unknown): boolean {
    // Digests have one length, so that the comparison takes the same time whatever is shown.
    const isRight = typeof shown === "string" && timingSafeEqual(digest(shown), this.#expected);
    if (!isRight) this.#wrong = Math.min(MOST_REMEMBERED, this.#remembered() + 1);
    return isRight;
  }

  #remembered(): number {
    const now = this.#now();
    const forgotten = Math.max(0, now - this.#at) / FORGOTTEN_AFTER_MS;
    this.#at = now;
    this.#wrong = Math.max(0, this.#wrong - forgotten);
    return this.#wrong;
  }
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
