/** The transport to an MCP server: a process, streamable HTTP, or server-sent events, behind one interface that can say why it broke. */
import {
  type FetchLike,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { type McpServerConfig, messageOf, visible } from "@retinue/protocol";
import type { ProcessLedger } from "../processes/process-ledger.ts";
import { addOwnKey } from "../secrets/known-values.ts";
import { watchAnswers } from "./answer-watch.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { httpWords, reachable } from "./http-errors.ts";
import type { ServerSignIn } from "./oauth/server-sign-in.ts";
import { isLocal, type RemoteServer } from "./server-config.ts";
import { StdioTransport } from "./stdio-transport.ts";

export interface Link {
  transport: Transport;
  /** The error with what the server left behind, such as the end of its stderr. */
  explain(error: unknown): Error;
  /** The server started and ended before the first request. */
  endedEarly(): boolean;
  close(): Promise<void>;
}

interface LinkOptions {
  workingDirectory: string;
  signIn?: Pick<ServerSignIn, "provider" | "watched">;
  processes?: ProcessLedger;
}

export function openLink(config: McpServerConfig, options: LinkOptions): Link {
  if (!isLocal(config)) return remoteLink(config, options);
  const transport = new StdioTransport(config, {
    cwd: options.workingDirectory,
    family: options.processes?.family(),
  });
  return {
    transport,
    explain: (error) => {
      const { stderr } = transport;
      return stderr === "" ? asError(error) : new Error(`${messageOf(error)}: ${stderr}`, { cause: error });
    },
    endedEarly: () => transport.hasEnded,
    close: () => transport.close(),
  };
}

function remoteLink(config: RemoteServer, { signIn }: LinkOptions): Link {
  // A server may say in its answer what was sent to it. Of `Bearer <key>` the key alone as well.
  for (const value of Object.values(config.headers ?? {}))
    for (const each of [value, ...value.split(/\s+/)]) addOwnKey(each);
  const send = boundedFetch(onOneOrigin(toServer));
  const options = {
    requestInit: { headers: { ...config.headers } },
    fetch: signIn?.watched(send) ?? send,
    ...(signIn && { authProvider: signIn.provider }),
  };
  const url = new URL(config.url);
  const explain = (error: unknown): Error => asError(httpWords(error));
  if (config.type === "sse") {
    const transport = new SSEClientTransport(url, { ...options, fetch: untilStreamEnds(options.fetch, () => end()) });
    let isClosed = false;
    const end = async (): Promise<void> => {
      if (isClosed) return;
      isClosed = true;
      await transport.close();
    };
    return { transport, explain, endedEarly: () => false, close: end };
  }
  const transport = new StreamableHTTPClientTransport(url, options);
  watchAnswers(transport);
  return { transport, explain, endedEarly: () => false, close: () => leave(transport) };
}

const toServer: FetchLike = async (url, init) => {
  try {
    return await fetch(url, init);
  } catch (error) {
    throw reachable(error);
  }
};

/** The session is this stream: what it has not answered by then will not be answered, and another stream is another session. */
function untilStreamEnds(send: FetchLike, end: () => Promise<void>): FetchLike {
  return async (url, init) => {
    const response = await send(url, init);
    const { ok, body, status, statusText, headers } = response;
    if (!ok || !body || !(headers.get("content-type") ?? "").startsWith("text/event-stream")) return response;
    async function* followed(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      try {
        yield* stream;
      } finally {
        await end();
      }
    }
    return new Response(ReadableStream.from(followed(body)), { status, statusText, headers });
  };
}

const MAX_REDIRECTS = 5;

/** What we send is for this server: calls, and keys in headers that `fetch` would send on. Elsewhere is somebody else. */
function onOneOrigin(send: FetchLike): FetchLike {
  return async (address, init) => {
    let url = new URL(address);
    let sent = init;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const response = await send(url, { ...sent, redirect: "manual" });
      const location = response.headers.get("location");
      if (location === null || !REDIRECTS.has(response.status)) return response;
      await response.body?.cancel();
      if (!URL.canParse(location, url.href))
        throw new Error(`the server redirects to ${visible(location)}, which is no address`);
      url = new URL(location, url);
      if (url.origin !== new URL(address).origin)
        throw new Error(`the server redirects to another origin (${visible(url.origin)}), which is not followed`);
      if (response.status < 307) sent = { ...sent, method: "GET", body: undefined };
    }
    throw new Error(`the server redirects more than ${MAX_REDIRECTS} times`);
  };
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Ends the session at the server, if it still answers. */
async function leave(transport: StreamableHTTPClientTransport): Promise<void> {
  const goodbye = transport.sessionId === undefined ? Promise.resolve() : transport.terminateSession();
  // A server that is gone needs no goodbye.
  await Promise.race([goodbye.catch(() => undefined), wait(GOODBYE_MS)]);
  await transport.close();
}

const GOODBYE_MS = 1000;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(messageOf(error), { cause: error });
