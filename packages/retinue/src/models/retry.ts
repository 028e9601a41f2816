/**
 * Calls a model until it answers or there is no point in trying again.
 *
 * Owns how often to retry and how long to wait for each kind of failure. The final error for a person is in call-failed.ts.
 */
import { setTimeout as wait } from "node:timers/promises";
import { isContextLimit, ModelCallFailed } from "./call-failed.ts";
import { finalWords, isUnknownModel, isUnreachable } from "./failure-words.ts";
import { ModelError, type ModelRequest, type Part, type Provider } from "./provider.ts";

export interface FailedAttempt {
  /** The first attempt is 1. */
  attempt: number;
  /** How many there may be in all. */
  attempts: number;
  error: ModelError;
  willRetry: boolean;
  /** How long until the next attempt; 0 when there is none. */
  delayMs: number;
}

export interface RetryOptions {
  signal: AbortSignal;
  onPart(part: Part): void;
  onFailure?(failure: FailedAttempt): void;
  /** Called when an attempt has ended without its answer, failed or aborted, and the endpoint may charge for it. */
  onWasted?(): void;
  /** The request of the attempt after one that was wasted: it has to fit into what is left. Throws when it does not. */
  renew?(error: ModelError): Promise<ModelRequest>;
  /** Parts of a failed attempt have come already: the reader throws away what it has. */
  onRestart?(): void;
  sleep?(ms: number, signal: AbortSignal): Promise<unknown>;
  /** 0 to 1, for jitter. */
  random?(): number;
}

const MANY = 6;
/** When nobody answers at an address, a server that is just starting is given one more chance. */
const FEW = 2;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;
/** When an endpoint asks to wait longer than this, a person must decide. */
const MAX_RETRY_AFTER_MS = 300_000;

export async function withRetries(provider: Provider, first: ModelRequest, options: RetryOptions): Promise<void> {
  const { signal, onPart, onFailure, onRestart, sleep = sleepUntil, random = Math.random } = options;
  let waitedMs = 0;
  let request = first;
  for (let attempt = 1; ; attempt++) {
    let hasBegun = false;
    let wasSent = false;
    const onSent = () => {
      wasSent = true;
    };
    try {
      for await (const part of provider.stream(request, { signal, onSent })) {
        hasBegun = true;
        onPart(part);
      }
      return;
    } catch (error) {
      const isWasted = hasBegun || (wasSent && !isRefusal(error));
      if (isWasted) options.onWasted?.();
      signal.throwIfAborted();
      if (!(error instanceof ModelError)) throw error;
      const attempts = attemptsFor(error);
      const willRetry = attempt < attempts;
      const delayMs = willRetry ? delayFor(error, { attempt, random, firstMs: provider.retryWaitMs }) : 0;
      onFailure?.({ attempt, attempts, error, willRetry, delayMs });
      if (!willRetry) {
        const models = isUnknownModel(error) ? await provider.models?.({ signal }) : undefined;
        const failed = { retries: attempt - 1, waitedMs, provider, model: request.model, models };
        throw new ModelCallFailed(error, finalWords(error, failed));
      }
      if (hasBegun) onRestart?.();
      await sleep(delayMs, signal);
      waitedMs += delayMs;
      if (isWasted && options.renew) request = await options.renew(error);
    }
  }
}

/** A gateway that has waited in vain says nothing about the endpoint behind it. */
const GATEWAY_TIMEOUTS: ReadonlySet<number | undefined> = new Set([504, 524]);

/** The endpoint has answered that it did not do it; nobody charges for that. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ModelError && error.kind === "api" && !GATEWAY_TIMEOUTS.has(error.status);

function attemptsFor(error: ModelError): number {
  const { kind, status, retryAfterMs = 0, providerCode } = error;
  if (retryAfterMs > MAX_RETRY_AFTER_MS) return 1;
  if (error.isElsewhere || isContextLimit(error) || providerCode === "insufficient_quota") return 1;
  if (isUnreachable(error)) return FEW;
  if (kind !== "api" || status === undefined) return MANY;
  return status === 408 || status === 409 || status === 429 || status >= 500 ? MANY : 1;
}

/** What the endpoint asked for and a little more; otherwise doubling from the first wait, with a jitter of a quarter. */
function delayFor(
  { retryAfterMs }: ModelError,
  { attempt, random, firstMs = FIRST_DELAY_MS }: { attempt: number; random: () => number; firstMs?: number },
): number {
  if (retryAfterMs !== undefined) return Math.round(retryAfterMs * (1 + random() / 10));
  return Math.round(Math.min(firstMs * 2 ** (attempt - 1), MAX_DELAY_MS) * (0.75 + random() / 2));
}

async function sleepUntil(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error;
  });
}
