/**
 * A model on loopback: a real HTTP server that speaks OpenAI chat completions, OpenAI responses and Anthropic messages,
 * and answers what a test says.
 *
 * Owns requests and connections. Every endpoint has its own address, handler and record, so that sessions that run at
 * the same time do not meet. What can be answered is in model-answers.ts, how it is written in model-wire.ts.
 */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Answer, type MessageAnswer, say } from "./model-answers.ts";
import { wireOf } from "./model-wire.ts";
import { PATIENCE_MS } from "./patience.ts";

export interface ChatMessage {
  role: string;
  content: string | null | { type: string; text?: string; image_url?: { url: string } }[];
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
  reasoning_content?: string;
}

export interface ModelTool {
  type: string;
  function: { name: string; description: string; parameters: { properties?: Record<string, unknown> } };
}

/** The fields of the three formats that tests look at. */
export interface ModelBody {
  model: string;
  messages: ChatMessage[];
  tools?: ModelTool[];
  stream?: boolean;
  tool_choice?: unknown;
  system?: unknown;
  input?: unknown;
}

/** Reads its body only when asked: a benchmark sends hundreds of kilobytes and needs to know one word of them. */
export class ModelRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  #body: ModelBody | undefined;

  constructor(path: string, headers: IncomingHttpHeaders, bytes: Buffer) {
    this.path = path;
    this.headers = headers;
    this.bytes = bytes;
  }

  get body(): ModelBody {
    this.#body ??= JSON.parse(this.bytes.toString("utf8"));
    return this.#body ?? { model: "", messages: [] };
  }

  get messages(): ChatMessage[] {
    return this.body.messages;
  }

  get system(): string {
    return textOf(this.messages.find((message) => message.role === "system"));
  }

  get last(): ChatMessage | undefined {
    return this.messages.at(-1);
  }

  get lastText(): string {
    return textOf(this.last);
  }

  /** The texts of all messages with this role, oldest first. */
  texts(role: string): string[] {
    return this.messages.filter((message) => message.role === role).map(textOf);
  }

  get toolNames(): string[] {
    return (this.body.tools ?? []).map((tool) => tool.function.name);
  }

  get streams(): boolean {
    return this.bytes.includes('"stream":true') || this.bytes.includes('"stream": true');
  }
}

export function textOf(message: ChatMessage | undefined): string {
  const content = message?.content;
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("\n");
}

export type Handler = (request: ModelRequest, index: number) => Answer | Promise<Answer>;

/** One address of the server with its own handler. */
export class Endpoint {
  readonly url: string;
  readonly requests: ModelRequest[] = [];
  readonly #record: boolean;
  #handler: Handler = () => say("ok");
  #count = 0;
  #waiters: (() => void)[] = [];

  constructor(url: string, { record }: { record: boolean }) {
    this.url = url;
    this.#record = record;
  }

  reply(handler: Handler): this {
    this.#handler = handler;
    return this;
  }

  /** These answers in this order; after the last one, `say("ok")`. */
  script(...answers: (Answer | Handler)[]): this {
    let at = 0;
    return this.reply((request, index) => {
      const answer = answers[at++] ?? say("ok");
      return typeof answer === "function" ? answer(request, index) : answer;
    });
  }

  get lastRequest(): ModelRequest {
    const last = this.requests.at(-1);
    if (!last) throw new Error("the model was not asked yet");
    return last;
  }

  /** Resolves when the model has been asked this many times. */
  async asked(count: number): Promise<ModelRequest[]> {
    while (this.requests.length < count) await this.#next(`${count} requests; seen: ${this.requests.length}`);
    return this.requests;
  }

  #next(what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the model waited for ${what}`)), PATIENCE_MS);
      this.#waiters.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  async answer(request: ModelRequest): Promise<Answer> {
    if (this.#record) this.requests.push(request);
    for (const wake of this.#waiters.splice(0)) wake();
    return this.#handler(request, this.#count++);
  }
}

export interface ModelServer extends AsyncDisposable {
  readonly port: number;
  endpoint(name?: string): Endpoint;
}

export async function startModelServer({ record = true }: { record?: boolean } = {}): Promise<ModelServer> {
  const endpoints = new Map<string, Endpoint>();
  let nextId = 0;
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    const [, name = ""] = (request.url ?? "").split("/");
    const endpoint = endpoints.get(name);
    // A request may be cut off at any time by the side that sent it; then nobody waits for the answer.
    serve(endpoint, { request, response, id: String(nextId++) }).catch(() => response.destroy());
  });
  server.requestTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server.address());
  return {
    port,
    endpoint(name = `e${endpoints.size}`) {
      const endpoint = endpoints.get(name) ?? new Endpoint(`http://127.0.0.1:${port}/${name}/v1`, { record });
      endpoints.set(name, endpoint);
      return endpoint;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("the model server has no port");
  return address.port;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  id: string;
}

async function serve(endpoint: Endpoint | undefined, { request, response, id }: Exchange): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const [path = ""] = (request.url ?? "").split("?");
  if (!endpoint || request.method !== "POST") {
    response.writeHead(404, { "content-type": "application/json" }).end('{"error":{"message":"no such endpoint"}}');
    return;
  }
  const asked = new ModelRequest(path, request.headers, Buffer.concat(parts));
  const answer = await endpoint.answer(asked);
  await write(answer, asked, { response, id });
}

async function write(answer: Answer, asked: ModelRequest, to: { response: ServerResponse; id: string }): Promise<void> {
  const { response } = to;
  switch (answer.kind) {
    case "message":
      return asked.streams ? stream(answer, asked.path, to) : whole(answer, asked.path, to);
    case "status":
      response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers }).end(answer.body);
      return;
    case "raw":
      response.writeHead(200, { "content-type": answer.contentType }).end(answer.body);
      return;
    case "drop":
      response.destroy();
      return;
    case "hang":
      return;
    default:
      answer satisfies never;
  }
}

function whole(answer: MessageAnswer, path: string, { response, id }: { response: ServerResponse; id: string }): void {
  if (answer.end === "drop") return void response.destroy();
  if (answer.end === "hang") return;
  const text = JSON.stringify(wireOf(path).whole(answer, id));
  const length = Buffer.byteLength(text);
  response.writeHead(200, { "content-type": "application/json", "content-length": length }).end(text);
}

async function stream(
  answer: MessageAnswer,
  path: string,
  { response, id }: { response: ServerResponse; id: string },
): Promise<void> {
  const wire = wireOf(path);
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const event of wire.start(answer, id)) {
    if (response.destroyed) return;
    if (!response.write(event)) await drained(response);
  }
  if (answer.end === "drop") return void response.destroy();
  if (answer.end === "hang") return;
  for (const event of wire.finish(answer, id)) response.write(event);
  response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}
