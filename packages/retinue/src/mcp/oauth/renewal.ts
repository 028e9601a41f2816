/** A new access token for an old one, from the server that gave it. Whoever comes second takes what the first one got. */
import {
  discoverAuthorizationServerMetadata,
  OAuthError,
  OAuthErrorCode,
  type OAuthTokens,
  refreshAuthorization,
} from "@modelcontextprotocol/client";
import { AppError, visible } from "@retinue/protocol";
import { guardedFetch } from "../../tools/web/guarded-fetch.ts";
import type { SignInPlace, Tokens } from "./kept-sign-in.ts";

interface Renewal {
  /** The token that is worth nothing any more; absent for one that nobody else gets. */
  stale?: string;
  /** The kept secret of a client that was registered beforehand. */
  secretFor?(authorizationServer: string): string | undefined;
  /** The client cannot do without its secret. */
  needsSecret: boolean;
  now(): number;
  signal: AbortSignal;
}

/** Undefined: only a new sign-in helps. Throws when the authorization server could not be asked; then everything stays as it was. */
export async function renewed(
  place: SignInPlace,
  { stale, secretFor, needsSecret, now, signal }: Renewal,
): Promise<Tokens | undefined> {
  return await place.locked(async () => {
    const kept = place.read();
    if (!kept?.tokens || (stale !== undefined && kept.tokens.access_token !== stale)) return kept?.tokens;
    const { refresh_token: refreshToken } = kept.tokens;
    if (refreshToken === undefined) return undefined;
    const guarded = guardedFetch(kept.server, signal);
    const { client, authorizationServer, resource } = kept;
    const clientInformation = { ...client, client_secret: client.client_secret ?? secretFor?.(authorizationServer) };
    if (needsSecret && clientInformation.client_secret === undefined) return undefined;
    try {
      const metadata = await discoverAuthorizationServerMetadata(authorizationServer, { fetchFn: guarded.fetch });
      const tokens = await refreshAuthorization(authorizationServer, {
        metadata,
        clientInformation,
        refreshToken,
        resource,
        fetchFn: guarded.fetch,
      });
      const fresh = { scope: kept.tokens.scope, ...datedTokens(tokens, now()) };
      const { refresh_token: next = refreshToken } = fresh;
      place.write({ ...kept, tokens: stale === undefined ? { ...kept.tokens, refresh_token: next } : fresh });
      return fresh;
    } catch (error) {
      guarded.throwRefusal();
      if (!isFinal(error)) throw error;
      place.write(isClientUnknown(error) ? undefined : { ...kept, tokens: undefined });
      return undefined;
    }
  });
}

export function datedTokens(tokens: OAuthTokens, now: number): Tokens {
  const { access_token, refresh_token, scope, expires_in, token_type } = tokens;
  checkToken(access_token, token_type);
  const expiresAt = expires_in === undefined ? undefined : now + usableMs(expires_in * 1000);
  return { access_token, refresh_token, scope, expiresAt };
}

/** A token is renewed this long before it expires. */
export const EARLY_MS = 60_000;
const MIN_LIFE_MS = 10_000;

/** A short life would be over, by that rule, before it has begun; it is used for one half of it instead. */
function usableMs(lifeMs: number): number {
  return lifeMs > 2 * EARLY_MS ? lifeMs : EARLY_MS + Math.max(lifeMs, MIN_LIFE_MS) / 2;
}

/** Throws for a token that cannot be sent as it must be. The words do not repeat it. */
export function checkToken(token: string, type = "bearer"): void {
  if (type.toLowerCase() !== "bearer")
    throw new AppError("authentication_failed", `tokens of the type ${visible(type)} are not supported, only bearer`);
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new AppError("authentication_failed", "the token has characters that no header may have");
}

/** The authorization server was asked and said no; trying again would change nothing. */
export function isFinal(error: unknown): boolean {
  const passing: readonly string[] = [
    OAuthErrorCode.ServerError,
    OAuthErrorCode.TemporarilyUnavailable,
    OAuthErrorCode.TooManyRequests,
  ];
  return error instanceof OAuthError && !passing.includes(error.code);
}

/** The registration itself is worth nothing any more. */
const isClientUnknown = (error: unknown): boolean =>
  error instanceof OAuthError &&
  (error.code === OAuthErrorCode.InvalidClient || error.code === OAuthErrorCode.UnauthorizedClient);
