/** The error of a model call that failed for good: the message and the class that `session.error` shows. */
import { AppError } from "@retinue/protocol";
import type { ModelError } from "./provider.ts";

export type ModelErrorType = "query" | "authentication" | "rate_limit" | "context_limit";

export class ModelCallFailed extends AppError {
  override readonly name = "ModelCallFailed";
  readonly errorType: ModelErrorType;
  readonly statusCode: number | undefined;
  /** The last failure. */
  readonly last: ModelError;

  constructor(last: ModelError, words: string) {
    super("model_failed", words, { cause: last });
    this.last = last;
    this.errorType = typeOf(last);
    this.statusCode = last.status;
  }
}

function typeOf(error: ModelError): ModelErrorType {
  if (error.status === 401 || error.status === 403) return "authentication";
  if (error.status === 429) return "rate_limit";
  return isContextLimit(error) ? "context_limit" : "query";
}

const CONTEXT_LIMIT =
  /context[ _](length|window|size)|(prompt|input|request) is too (long|large)|maximum context|too many (input )?tokens|exceeds? the (token|context|maximum number of tokens)|reduce the length/i;
const TOO_LONG: ReadonlySet<string | undefined> = new Set([
  "context_length_exceeded",
  "exceed_context_size_error",
  "request_too_large",
  "string_above_max_length",
]);

/** The conversation is longer than the model takes. */
export function isContextLimit({ kind, status, providerCode, providerType, message }: ModelError): boolean {
  if (kind !== "api" || (status !== undefined && status !== 400 && status !== 413 && status !== 422)) return false;
  return (
    status === 413 ||
    TOO_LONG.has(providerCode) ||
    TOO_LONG.has(providerType) ||
    CONTEXT_LIMIT.test(message.slice(0, 2000))
  );
}
