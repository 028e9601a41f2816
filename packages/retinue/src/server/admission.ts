/**
 * How one connection gets in: it shows the token of the server, one try at a time, and is closed after a few wrong ones.
 *
 * Owns whether the client is in. What it may do then is the runtime's business.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@retinue/protocol/errors";
import type { TokenCheck } from "./token-check.ts";

export interface AdmissionOptions {
  /** Absent where everybody who can connect may come in. */
  token?: string | TokenCheck;
  /** Called once. */
  onAdmitted(): void;
  /** Called with the last wrong token that is borne. */
  onRefused(): void;
}

/** Wrong tokens that one connection may show. It is closed with the last one. */
const MAX_WRONG_TOKENS = 5;

export class Admission {
  readonly #options: AdmissionOptions;
  #isAdmitted = false;
  #check: TokenCheck | undefined;
  #wrong = 0;
  /** The tries that wait. */
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  get needsToken(): boolean {
    return this.#options.token !== undefined;
  }
  get isAdmitted(): boolean {
    return this.#isAdmitted;
  }

  admit(): void {
    if (this.#isAdmitted) return;
    this.#isAdmitted = true;
    this.#options.onAdmitted();
  }

  /** Rejects when the token is wrong. An ordinary first try is decided at once, so that what follows it in the same packet is heard. */
  show(shown: unknown, { signal }: { signal: AbortSignal }): Promise<void> {
    const { token } = this.#options;
    if (token === undefined)
      return Promise.reject(new AppError("authentication_not_configured", "AUTHENTICATION_NOT_CONFIGURED"));
    const isFree = this.#waiting === 0;
    if (isFree && typeof token !== "string" && token.waitMs(this.#wrong) === 0) return this.#decide(token, shown);
    this.#waiting++;
    const decided = this.#last.then(() => this.#decideLater(token, shown, { signal })).finally(() => this.#waiting--);
    this.#last = decided.catch(() => undefined); // The next try waits for the end of this one, whatever it is.
    return decided;
  }

  async #decideLater(token: string | TokenCheck, shown: unknown, { signal }: { signal: AbortSignal }): Promise<void> {
    this.#check ??= typeof token === "string" ? await checkOf(token) : token;
    await sleep(this.#check.waitMs(this.#wrong), undefined, { signal, ref: false });
    await this.#decide(this.#check, shown);
  }

  async #decide(check: TokenCheck, shown: unknown): Promise<void> {
    const isTooLate = this.#wrong >= MAX_WRONG_TOKENS;
    if (!isTooLate && check.isRight(shown)) return this.admit();
    this.#wrong++;
    if (this.#wrong === MAX_WRONG_TOKENS) this.#options.onRefused();
    throw new AppError("authentication_failed", "AUTHENTICATION_FAILED");
  }
}

/** Loaded when it is needed: most runtimes serve their one client on stdio, which shows no token. */
async function checkOf(token: string): Promise<TokenCheck> {
  const { TokenCheck } = await import("./token-check.ts");
  return new TokenCheck(token);
}
