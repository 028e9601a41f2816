/** The error of a model call that failed for good: the message and the class that `session.error` shows. */
import { AppError } from "@retinue/protocol";
import type { ModelError } from "./provider.ts";

export type ModelErrorType = "query" | "authentication" | "rate_limit" | "context_limit";

interface Attempts {
  retries: number;
  waitedMs: number;
  baseUrl: string | undefined;
}

export class ModelCallFailed extends AppError {
  override readonly name = "ModelCallFailed";
  readonly errorType: ModelErrorType;
  readonly statusCode: number | undefined;
  /** The last failure. */
  readonly last: ModelError;

  constructor(last: ModelError, attempts: Attempts) {
    super("model_failed", textOf(last, attempts), { cause: last });
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
  /context[ _](length|window)|prompt is too long|maximum context|too many (input )?tokens|exceeds the (token|context) limit/i;

function isContextLimit({ kind, status, providerCode, message }: ModelError): boolean {
  if (kind !== "api" || (status !== undefined && status !== 400 && status !== 413 && status !== 422)) return false;
  return providerCode === "context_length_exceeded" || CONTEXT_LIMIT.test(message);
}

const UNREACHABLE = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

function textOf(error: ModelError, { retries, waitedMs, baseUrl }: Attempts): string {
  if (baseUrl !== undefined) {
    const named = textNaming(baseUrl, error);
    if (named) return named;
  }
  if (retries === 0) return error.message;
  const waited = `total retry wait time: ${(waitedMs / 1000).toFixed(2)} seconds`;
  return `Failed to get response from the AI model; retried ${retries} times (${waited}) Last error: ${error.message}`;
}

function textNaming(baseUrl: string, { kind, status, providerCode = "" }: ModelError): string | undefined {
  if (status === 401) {
    return `Authentication failed with provider at ${baseUrl} (HTTP 401).\n  Check the API key or token of this provider.`;
  }
  if (status === 404) {
    return `Resource not found on provider at ${baseUrl} (HTTP 404).\n  Check the base URL and the model name.`;
  }
  if (kind === "transport" && UNREACHABLE.has(providerCode)) {
    return `Could not connect to the model provider at ${baseUrl}.\n  Check that it is running and that the address is right.`;
  }
  return undefined;
}
