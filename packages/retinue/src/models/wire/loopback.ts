/** For tests: a real HTTP server on the loopback address that answers like a model endpoint and remembers what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface Received {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: Record<string, unknown>;
  /** Resolves when the connection of this request is gone. */
  closed: Promise<void>;
}

export type Reply = (response: ServerResponse, received: Received) => void | Promise<void>;

export interface Loopback extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
  /** How many connections were ever opened. */
  readonly connections: number;
}

/** Replies in order; the last one answers all further requests. */
export async function loopback(...replies: Reply[]): Promise<Loopback> {
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  const server = createServer(async (request, response) => {
    const reply = replies[Math.min(received.length, replies.length - 1)];
    const entry = await receive(request);
    received.push(entry);
    await reply?.(response, entry);
  });
  server.keepAliveTimeout = 60_000;
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    get connections() {
      return sockets.size;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function receive(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  const { method = "", url = "", headers, socket } = request;
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  return { method, url, headers, body: text === "" ? {} : JSON.parse(text), closed };
}

/** One JSON object. */
export function json(body: unknown, { status = 200, headers = {} } = {}): Reply {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

/** Events of a chat completions stream: objects as JSON, strings as they are. */
export function sse(...events: unknown[]): Reply {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    for (const event of events)
      response.write(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
    response.end();
  };
}

/** Events with a name, as the Responses and Messages formats send them: the name is the object's `type`. */
export function namedSse(...events: { type: string; [field: string]: unknown }[]): Reply {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  };
}

/** Starts like `sse` and then drops the connection. */
export function brokenSse(...events: unknown[]): Reply {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    response.write(text, () => response.socket?.destroy());
  };
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
