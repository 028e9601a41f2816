/**
 * Keeps the credentials of an endpoint out of its errors: endpoints and proxies repeat the key or the headers of a request that they refuse.
 *
 * The exact values are known here, so they are hidden by value, whatever they look like and however they are encoded.
 */
import { addOwnKey, hideThese } from "../../secrets/known-values.ts";
import { redact } from "../../secrets/redact.ts";
import { ModelError } from "../provider.ts";
import type { Endpoint } from "./endpoint.ts";

type Headers = Readonly<Record<string, string>>;

export interface Guarded {
  /** Notes the tokens that its provider gives. */
  endpoint: Endpoint;
  /** The error without credentials; `headers` are those of the request. */
  clean(error: unknown, headers?: Headers): unknown;
}

export function guard(endpoint: Endpoint): Guarded {
  const used = new Set<string>();
  const use = (value: string | undefined) => {
    if (!value) return;
    used.add(value);
    addOwnKey(value);
  };
  use(endpoint.apiKey);
  use(endpoint.bearerToken);
  for (const value of Object.values(endpoint.headers ?? {})) used.add(value);
  const { tokenProvider } = endpoint;
  const noted =
    tokenProvider &&
    (async () => {
      const token = await tokenProvider();
      use(token);
      return token;
    });
  return {
    endpoint: { ...endpoint, tokenProvider: noted },
    clean: (error, headers = {}) =>
      error instanceof ModelError ? cleaned(error, [...used, ...Object.values(headers)]) : error,
  };
}

function cleaned(error: ModelError, secrets: readonly string[]): ModelError {
  const clean = (text: string) => redact(hideThese(text, secrets));
  const { kind, status, retryAfterMs, providerCode, providerType, said, isElsewhere, detail } = error;
  return new ModelError(clean(error.message), {
    kind,
    status,
    retryAfterMs,
    providerCode: providerCode && clean(providerCode),
    providerType: providerType && clean(providerType),
    said: said && clean(said),
    isElsewhere,
    detail: clean(detail),
  });
}
