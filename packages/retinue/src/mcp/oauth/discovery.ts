/** Who gives tokens for a server, as the server and that authorization server say themselves, and what is checked of it. */
import {
  checkResourceAllowed,
  discoverOAuthServerInfo,
  IssuerMismatchError,
  type OAuthServerInfo,
  resourceUrlFromServerUrl,
} from "@modelcontextprotocol/client";
import { AppError, messageOf, visible } from "@retinue/protocol";
import { checkAddress, type GuardedFetch } from "../../tools/web/guarded-fetch.ts";

export async function discovered(
  serverUrl: string,
  guarded: GuardedFetch,
  metadataUrl?: string,
): Promise<OAuthServerInfo> {
  try {
    const resourceMetadataUrl = metadataUrl === undefined ? undefined : checkAddress(metadataUrl, serverUrl);
    const info = await discoverOAuthServerInfo(serverUrl, { resourceMetadataUrl, fetchFn: guarded.fetch });
    guarded.throwRefusal();
    return info;
  } catch (error) {
    guarded.throwRefusal();
    throw failed(error);
  }
}

/** What the token is for. A server that names somebody else's resource would get a token for it. */
export function resourceOf(serverUrl: string, { resourceMetadata }: OAuthServerInfo): string {
  const requestedResource = resourceUrlFromServerUrl(serverUrl);
  const configuredResource = resourceMetadata?.resource;
  if (configuredResource === undefined) return requestedResource.href;
  if (checkResourceAllowed({ requestedResource, configuredResource })) return configuredResource;
  throw failed(new Error(`the server says that it is ${visible(configuredResource)}, which it is not`));
}

export function failed(error: unknown): AppError {
  if (error instanceof AppError) return error;
  // What came instead is an attacker's word, if it is one, and not shown.
  if (error instanceof IssuerMismatchError) return failed(new Error("it was answered by another authorization server"));
  return new AppError("authentication_failed", `the sign-in failed: ${messageOf(error)}`, { cause: error });
}
