/** Tokens for a program that acts for itself: client credentials, without a browser and without a refresh token. */
import { ClientCredentialsProvider, fetchToken } from "@modelcontextprotocol/client";
import { checkAddress, guardedFetch } from "../../tools/web/guarded-fetch.ts";
import { discovered, failed, resourceOf } from "./discovery.ts";
import type { SignIn, SignInPlace, Tokens } from "./kept-sign-in.ts";
import { datedTokens, isFinal } from "./renewal.ts";

export interface ActingClient {
  id: string;
  /** Throws, or is undefined, where that authorization server must not get it. */
  secretFor(authorizationServer: string): string | undefined;
}

interface TokenRequest {
  url: string;
  /** As the server named it. */
  metadataUrl?: string;
  now(): number;
  signal: AbortSignal;
}

type NewSignIn = SignIn & { tokens: Tokens };

export async function signInOfClient(
  client: ActingClient,
  { url, metadataUrl, now, signal }: TokenRequest,
): Promise<NewSignIn> {
  checkAddress(url, url);
  const guarded = guardedFetch(url, signal);
  const info = await discovered(url, guarded, metadataUrl);
  const { authorizationServerUrl: authorizationServer, authorizationServerMetadata: metadata } = info;
  const resource = resourceOf(url, info);
  const clientSecret = client.secretFor(authorizationServer);
  if (clientSecret === undefined) throw failed(new Error("the client needs a client secret"));
  const expectedIssuer = metadata?.issuer ?? authorizationServer;
  const provider = new ClientCredentialsProvider({ clientId: client.id, clientSecret, expectedIssuer });
  try {
    const given = await fetchToken(provider, authorizationServer, { metadata, resource, fetchFn: guarded.fetch });
    const tokens = datedTokens(given, now());
    return { version: 1, server: url, authorizationServer, resource, client: { client_id: client.id }, tokens };
  } catch (error) {
    guarded.throwRefusal();
    throw failed(error);
  }
}

/** In place of the stale token, or of none. Undefined: the authorization server says no. Whoever comes second takes what the first one got. */
export async function renewedAsClient(
  place: SignInPlace,
  client: ActingClient,
  { stale, ...request }: TokenRequest & { stale: string | undefined },
): Promise<Tokens | undefined> {
  return await place.locked(async () => {
    const kept = place.read()?.tokens;
    if (kept && kept.access_token !== stale) return kept;
    try {
      const signIn = await signInOfClient(client, request);
      place.write(signIn);
      return signIn.tokens;
    } catch (error) {
      if (!isFinal(error instanceof Error ? error.cause : error)) throw error;
      place.write(undefined);
      return undefined;
    }
  });
}
