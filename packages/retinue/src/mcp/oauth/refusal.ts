/** What a server said when it did not let us in, and what clients are told of it. */
import {
  extractWWWAuthenticateParams,
  InsufficientScopeError,
  SdkHttpError,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { AppError, type McpSignInRequest } from "@retinue/protocol";

export type SignInReason = McpSignInRequest["reason"];

export interface Refusal {
  reason: SignInReason;
  httpResponse?: McpSignInRequest["httpResponse"];
  wwwAuthenticateParams?: McpSignInRequest["wwwAuthenticateParams"];
}

const MAX_BODY = 64 * 1024;

/** Reads the body of the response. */
export async function refusalOf(response: Response, reason: SignInReason): Promise<Refusal> {
  const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(response);
  const params = { resourceMetadataUrl: resourceMetadataUrl?.href, scope, error };
  return {
    reason,
    httpResponse: await described(response),
    wwwAuthenticateParams: response.headers.has("www-authenticate") ? params : undefined,
  };
}

export async function described(response: Response): Promise<NonNullable<Refusal["httpResponse"]>> {
  // Without cookies, which are for nobody else.
  const headers = [...response.headers].filter(([name]) => name !== "set-cookie");
  const body = await textOf(response);
  return { statusCode: response.status, headers: headers.map(([name, value]) => ({ name, value })), ...body };
}

/** Left out when it is longer than any explanation, or when it never ends. */
async function textOf(response: Response): Promise<{ body?: string }> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  if (isStream || Number(response.headers.get("content-length") ?? 0) > MAX_BODY) {
    await response.body?.cancel();
    return {};
  }
  const body = await response.text().catch(() => undefined);
  return body === undefined || body.length > MAX_BODY ? {} : { body };
}

/** The server wants a sign-in, or one with more rights. */
export function isSignInNeeded(error: unknown): boolean {
  if (error instanceof UnauthorizedError || error instanceof InsufficientScopeError) return true;
  if (error instanceof SdkHttpError) return error.status === 401;
  return error instanceof AppError && error.code === "authentication_required";
}

export function scopeRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Error && error.cause !== undefined && !(error instanceof InsufficientScopeError)) {
    return scopeRefusal(error.cause);
  }
  if (!(error instanceof InsufficientScopeError)) return undefined;
  const { requiredScope: scope, resourceMetadataUrl } = error;
  return {
    reason: "upscope",
    wwwAuthenticateParams: { error: "insufficient_scope", scope, resourceMetadataUrl: resourceMetadataUrl?.href },
  };
}
