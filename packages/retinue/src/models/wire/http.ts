/**
 * One streaming request to a model endpoint: status, headers and body chunks, over connections that are kept alive.
 *
 * Owns what can go wrong below a wire format: no connection, a broken body, silence, an error status. Each becomes a
 * ModelError. Why this is `node:http` and not a client library: docs/decisions/0002-model-http.md.
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, RequestOptions } from "node:http";
import { Agent, request as requestHttp } from "node:http";
import { urlToHttpOptions } from "node:url";
import { messageOf } from "@retinue/protocol";
import { ModelError } from "../provider.ts";
import { apiError } from "./api-error.ts";

export interface HttpCall {
  method?: "POST" | "GET";
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Parts are sent one after the other as they are. */
  body?: string | readonly (string | Uint8Array)[];
  signal: AbortSignal;
  /** Called when there is a connection, which the request leaves on at once. */
  onSent?(): void;
  /** How long the endpoint may be silent. */
  idleTimeoutMs?: number;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Reads the body, once. A reader that returns true has all that it needs; what is left is dropped. */
  read: ReadBody;
}

export type ReadBody = (onChunk: (chunk: Uint8Array) => boolean) => Promise<void>;

const IDLE_TIMEOUT_MS = 600_000;
const DRAIN_MS = 50;
const MAX_ERROR_BODY = 64 * 1024;

/** Sends the call and resolves with a 2xx answer. Aborting at any moment closes the connection and throws the reason. */
export async function send(call: HttpCall): Promise<HttpAnswer> {
  call.signal.throwIfAborted();
  const open = await transportFor(addressOf(call.url));
  const response = await respond(call, open);
  const read: ReadBody = (onChunk) => readBody(response, call, onChunk);
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300) return { status, headers: response.headers, read };
  throw apiError({ status, headers: response.headers, body: await readSome(read, MAX_ERROR_BODY) });
}

/** The whole body as text. */
export async function readText({ read }: Pick<HttpAnswer, "read">): Promise<string> {
  return await readSome(read, Number.POSITIVE_INFINITY);
}

type Open = (options: RequestOptions) => ClientRequest;

interface Address {
  text: string;
  options: RequestOptions;
}

let last: Address | undefined;

/** Reading an address takes longer than one would think, and most requests go where the last one went. */
function addressOf(text: string): Address {
  if (last?.text !== text) last = { text, options: urlToHttpOptions(new URL(text)) };
  return last;
}

// Idle sockets of these agents are unref'd by Node, so a waiting connection never keeps the process alive.
const httpAgent = new Agent({ keepAlive: true });
let https: Promise<Open> | undefined;

async function transportFor({ text, options: to }: Address): Promise<Open> {
  if (to.protocol === "http:") return (options) => requestHttp({ ...to, ...options, agent: httpAgent });
  if (to.protocol !== "https:")
    throw new ModelError(`Not an http address: ${text}`, { kind: "transport", providerCode: "ERR_INVALID_PROTOCOL" });
  https ??= import("node:https").then(({ Agent, request }) => {
    const agent = new Agent({ keepAlive: true });
    return (options) => request({ ...options, agent });
  });
  const open = await https;
  return (options) => open({ ...to, ...options });
}

async function respond(call: HttpCall, open: Open): Promise<IncomingMessage> {
  try {
    return await responseTo(open(optionsFor(call)), call);
  } catch (error) {
    call.signal.throwIfAborted();
    throw transportError(error, call.url);
  }
}

function optionsFor({ method = "POST", headers, body = "" }: HttpCall): RequestOptions {
  const bytes = partsOf(body).reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  const length = method === "POST" ? { "content-length": String(bytes) } : {};
  return { method, headers: { ...headers, ...length } };
}

function partsOf(body: NonNullable<HttpCall["body"]>): readonly (string | Uint8Array)[] {
  return typeof body === "string" ? [body] : body;
}

function responseTo(request: ClientRequest, call: HttpCall): Promise<IncomingMessage> {
  const { signal, idleTimeoutMs = IDLE_TIMEOUT_MS } = call;
  const abort = () => request.destroy();
  signal.addEventListener("abort", abort, { once: true });
  request.once("close", () => signal.removeEventListener("abort", abort));
  if (call.onSent) whenConnected(request, call.onSent);
  request.setTimeout(idleTimeoutMs, () => request.destroy(new Error(`nothing was received for ${idleTimeoutMs} ms`)));
  return new Promise((resolve, reject) => {
    request.on("error", reject);
    request.once("response", resolve);
    request.cork(); // Head and parts leave in one write.
    for (const part of partsOf(call.body ?? "")) if (part.length > 0) request.write(part);
    request.end();
    request.uncork();
  });
}

function whenConnected(request: ClientRequest, then: () => void): void {
  request.once("socket", (socket) => {
    if (socket.connecting) socket.once("encrypted" in socket ? "secureConnect" : "connect", then);
    else then();
  });
}

/** Resolves at the end of the body, so that the connection is free for the next call then. */
function readBody(
  response: IncomingMessage,
  { signal, url }: HttpCall,
  onChunk: Parameters<ReadBody>[0],
): Promise<void> {
  return new Promise((resolve, reject) => {
    let isDone = false;
    let timer: NodeJS.Timeout | undefined;
    // A reader that stops at the end mark of its format leaves a few bytes: reading them keeps the connection for the next call.
    const drop = () => {
      isDone = true;
      timer = setTimeout(() => response.destroy(), DRAIN_MS).unref();
    };
    const end = () => {
      isDone = true;
      clearTimeout(timer);
      resolve();
    };
    const fail = (error: unknown) => {
      if (!isDone) reject(signal.aborted ? signal.reason : transportError(error, url));
      end();
    };
    response.on("data", (chunk: Uint8Array) => {
      try {
        if (!isDone && onChunk(chunk)) drop();
      } catch (error) {
        reject(error);
        drop();
      }
    });
    response.once("end", end);
    response.on("error", fail);
    response.once("close", () => fail(new Error("the connection was closed")));
  });
}

async function readSome(read: ReadBody, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  await read((chunk) => {
    chunks.push(chunk);
    bytes += chunk.length;
    return bytes >= limit;
  });
  return Buffer.concat(chunks).toString("utf8");
}

function transportError(error: unknown, url: string): ModelError {
  if (error instanceof ModelError) return error;
  const code = codeOf(error);
  const text = messageOf(error) || code || "connection failed";
  const { origin, pathname } = new URL(url);
  return new ModelError(`Request to ${origin}${pathname} failed: ${text}`, {
    kind: "transport",
    providerCode: code,
    cause: error,
  });
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
