/** A token for a program that acts for itself: client credentials, without a browser. */
import { ClientCredentialsProvider, fetchToken } from "@modelcontextprotocol/client";
import { addKnownValue } from "../../secrets/known-values.ts";
import { checkAddress, guardedFetch } from "../../tools/web/guarded-fetch.ts";
import { discovered, failed, resourceOf } from "./discovery.ts";

export async function tokenOfClient(
  client: { id: string; secret: string },
  { url, metadataUrl, signal }: { url: string; metadataUrl?: string; signal: AbortSignal },
): Promise<string> {
  addKnownValue(client.secret);
  checkAddress(url, url);
  const guarded = guardedFetch(url, signal);
  const info = await discovered(url, guarded, metadataUrl);
  const provider = new ClientCredentialsProvider({
    clientId: client.id,
    clientSecret: client.secret,
    expectedIssuer: info.authorizationServerMetadata?.issuer ?? info.authorizationServerUrl,
  });
  try {
    const { access_token } = await fetchToken(provider, info.authorizationServerUrl, {
      metadata: info.authorizationServerMetadata,
      resource: resourceOf(url, info),
      fetchFn: guarded.fetch,
    });
    return access_token;
  } catch (error) {
    guarded.throwRefusal();
    throw failed(error);
  }
}
