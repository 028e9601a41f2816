/**
 * Serves the chat page and connects each open page to the runtime in this process.
 *
 * Owns who may talk to the runtime: only programs of this machine, only with the token, and only pages that this server has served.
 * A runtime runs commands, so whoever reaches it can do what its user can.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { linkedTransports, type Transport } from "@retinue/protocol";
import { type Runtime, serveConnection } from "retinue";
import type { PageFile } from "./bundle.ts";

const MAX_BODY = 8 * 1024 * 1024;

export interface WebChatOptions {
  runtime: Runtime;
  /** What a browser may load, by path. */
  files: ReadonlyMap<string, PageFile>;
  /** Default: any free one. */
  port?: number;
}

export interface WebChat extends AsyncDisposable {
  /** The address without the token. */
  readonly base: string;
  readonly token: string;
}

export async function startWebChat({ runtime, files, port = 0 }: WebChatOptions): Promise<WebChat> {
  const token = randomBytes(24).toString("base64url");
  const links = new Map<string, Transport>();
  let base = "";
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refused = refusal(request, { base, token, isFile: files.has(request.url ?? "") });
    if (refused) return end(response, ...refused);
    const file = request.method === "GET" ? files.get(request.url ?? "") : undefined;
    if (file) return serveFile(response, file);
    if (request.method !== "POST") return end(response, 404, "there is no such page");
    if (request.url === "/link") return open(response);
    const link = links.get(request.url?.slice("/link/".length) ?? "");
    if (!link) return end(response, 404, "this connection is closed");
    const body = await bodyOf(request);
    if (body === undefined) return end(response, 413, "this is too long");
    for (const line of body.split("\n")) link.send(line);
    end(response, 204);
  }

  /** The answer ends when the page is closed or left. */
  function open(response: ServerResponse): void {
    const id = randomBytes(12).toString("base64url");
    const [near, far] = linkedTransports();
    links.set(id, near);
    response.writeHead(200, { "content-type": "application/x-ndjson", "cache-control": "no-store" });
    response.write(`${id}\n`);
    near.start({
      text: (text) => response.write(`${text}\n`),
      bad: () => near.close(),
      closed: () => response.end(),
    });
    response.on("close", () => {
      links.delete(id);
      near.close();
    });
    void serveConnection(far, { version: runtime.config.version, load: async () => runtime });
  }

  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  base = `http://127.0.0.1:${address && typeof address === "object" ? address.port : port}`;
  return {
    base,
    token,
    async [Symbol.asyncDispose]() {
      for (const link of links.values()) link.close();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Rules {
  base: string;
  token: string;
  isFile: boolean;
}

/** Why a request is not answered. A page of another origin, and a name that somebody points at this machine, get nothing. */
function refusal({ headers, method }: IncomingMessage, { base, token, isFile }: Rules): [number, string] | undefined {
  const own = new URL(base);
  if (headers.host !== own.host) return [403, "this server answers under its own address only"];
  if (headers.origin !== undefined && headers.origin !== own.origin) return [403, "this page may not use the runtime"];
  if (isFile && method === "GET") return undefined; // The page itself has no secrets.
  return isSame(headers.authorization ?? "", `Bearer ${token}`) ? undefined : [401, "the token is missing or wrong"];
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function serveFile(response: ServerResponse, { type, content }: PageFile): void {
  response.writeHead(200, {
    "content-type": type,
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
  response.end(content);
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function end(response: ServerResponse, status: number, text = ""): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" });
  response.end(text);
}
