/** One look at a server: does it let us in? */
import { LATEST_PROTOCOL_VERSION } from "@modelcontextprotocol/client";
import { type McpProbe, messageOf, timeoutSignal } from "@retinue/protocol";
import { boundedFetch } from "../bounded-fetch.ts";
import type { RemoteServer } from "../server-config.ts";
import { described, refusalOf } from "./refusal.ts";

const LIMIT_MS = 30_000;

export async function probed(
  { url, type, headers }: RemoteServer,
  { token, signal }: { token?: string; signal: AbortSignal },
): Promise<McpProbe> {
  const authorization = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  try {
    const response = await boundedFetch((address, init) => fetch(address, init))(url, {
      ...(type === "sse" ? {} : { method: "POST", body: GREETING }),
      headers: {
        ...headers,
        accept: type === "sse" ? "text/event-stream" : "application/json, text/event-stream",
        "content-type": "application/json",
        ...authorization,
      },
      // Never with the token to another place.
      redirect: "manual",
      signal: AbortSignal.any([signal, timeoutSignal(LIMIT_MS)]),
    });
    return await verdict(response, token !== undefined);
  } catch (error) {
    const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
    return { status: "failed", error: messageOf(cause) };
  }
}

async function verdict(response: Response, hadToken: boolean): Promise<McpProbe> {
  const { status, ok } = response;
  if (ok) return { status: hadToken ? "authenticated" : "no-auth-required", httpResponse: await described(response) };
  const refusal = await refusalOf(response, "initial");
  const { httpResponse = { statusCode: status, headers: [] }, wwwAuthenticateParams } = refusal;
  if (status === 401) {
    return { status: "needs-auth", reason: hadToken ? "refresh" : "initial", httpResponse, wwwAuthenticateParams };
  }
  if (status === 403 && wwwAuthenticateParams?.error === "insufficient_scope") {
    return { status: "needs-auth", reason: "upscope", httpResponse, wwwAuthenticateParams };
  }
  return { status: "failed", error: `the server answered with HTTP ${status}`, httpResponse };
}

const GREETING = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: LATEST_PROTOCOL_VERSION,
    capabilities: {},
    clientInfo: { name: "retinue", version: "0" },
  },
});
