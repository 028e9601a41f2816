/**
 * A bare JSON-RPC client for tests of the wire itself: it sends any bytes and shows every message as it came.
 *
 * Written apart from the product's own peer, so that one mistake cannot hide in both.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { PATIENCE_MS } from "./patience.ts";
import { cleanEnv, type Folders, freshFolders, runtimePath } from "./runtime.ts";

export interface Message {
  jsonrpc?: string;
  id?: number | string | null;
  method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: a wire test looks at messages whose shape is what it asserts.
  params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  result?: any;
  error?: { code: number; message: string; data?: unknown };
}

export const frame = (body: string): string => `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

export class Wire {
  readonly messages: Message[] = [];
  readonly closed: Promise<void>;
  readonly #out: Writable;
  readonly #handlers = new Map<string, (params: Message["params"]) => unknown>();
  readonly #waiters = new Set<() => void>();
  #buffer = Buffer.alloc(0);
  #nextId = 1;

  constructor(input: Readable, out: Writable) {
    this.#out = out;
    this.closed = new Promise((resolve) => input.once("close", () => resolve()));
    // A runtime that ends while a test still writes to it is what some tests are about.
    out.on("error", () => undefined);
    input.on("error", () => undefined);
    input.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Answers requests of the server. */
  handle(method: string, handler: (params: Message["params"]) => unknown): void {
    this.#handlers.set(method, handler);
  }

  bytes(text: string | Buffer): void {
    this.#out.write(text);
  }

  send(message: object): void {
    this.bytes(frame(JSON.stringify({ jsonrpc: "2.0", ...message })));
  }

  /** Sends a request and returns the whole answer, an error answer too. */
  async answer(method: string, params?: unknown): Promise<Message> {
    const id = this.#nextId++;
    this.send({ id, method, ...(params === undefined ? {} : { params }) });
    return this.until((message) => message.id === id && message.method === undefined);
  }

  async request(method: string, params?: unknown): Promise<Message["result"]> {
    const { result, error } = await this.answer(method, params);
    if (error) throw new Error(`${method}: ${error.code} ${error.message}`);
    return result;
  }

  /** The first message that passes, among those already seen or still to come. */
  until(passes: (message: Message) => boolean): Promise<Message> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = this.messages.find(passes);
        if (!found) return;
        this.#waiters.delete(look);
        clearTimeout(timer);
        resolve(found);
      };
      const timer = setTimeout(() => {
        this.#waiters.delete(look);
        reject(new Error(`no such message among ${this.messages.length}: ${passes}`));
      }, PATIENCE_MS);
      this.#waiters.add(look);
      look();
    });
  }

  /** The first event of the type. */
  event(type: string, passes: (event: Message["params"]) => boolean = () => true): Promise<Message["params"]> {
    const is = (message: Message) => message.method === "session.event" && message.params.event.type === type;
    return this.until((message) => is(message) && passes(message.params.event)).then(({ params }) => params.event);
  }

  end(): void {
    this.#out.end();
  }

  #read(chunk: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    for (;;) {
      const head = this.#buffer.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/content-length: *(\d+)/i.exec(this.#buffer.toString("latin1", 0, head))?.[1]);
      if (this.#buffer.length < head + 4 + length) return;
      const body = this.#buffer.toString("utf8", head + 4, head + 4 + length);
      this.#buffer = this.#buffer.subarray(head + 4 + length);
      this.#take(JSON.parse(body));
    }
  }

  #take(message: Message): void {
    this.messages.push(message);
    const handler = message.method === undefined ? undefined : this.#handlers.get(message.method);
    if (handler && message.id !== undefined) void this.#respond(message, handler);
    for (const wake of [...this.#waiters]) wake();
  }

  async #respond({ id, params }: Message, handler: (params: Message["params"]) => unknown): Promise<void> {
    try {
      this.send({ id, result: (await handler(params)) ?? null });
    } catch (error) {
      this.send({ id, error: { code: -32603, message: String(error) } });
    }
  }
}

export interface RawRuntime extends AsyncDisposable {
  readonly process: ChildProcess;
  readonly folders: Folders;
}

function launch(args: string[], folders: Folders, env: Record<string, string>): ChildProcess {
  const all = ["--headless", "--no-auto-update", "--log-level", "error", "--no-auto-login", ...args];
  const [command, first] = runtimePath.endsWith(".js") ? [process.execPath, [runtimePath]] : [runtimePath, []];
  return spawn(command, [...first, ...all], {
    cwd: folders.folder,
    env: cleanEnv({ COPILOT_HOME: folders.home, TMPDIR: folders.temporary, ...env }),
    stdio: ["pipe", "pipe", "ignore"],
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** A runtime on stdin and stdout; on the folders of another one when they are given. */
export async function spawnStdio({
  env = {},
  folders: given,
}: {
  env?: Record<string, string>;
  folders?: Folders;
} = {}): Promise<RawRuntime & { wire: Wire; kill(): Promise<void> }> {
  const folders = given ?? (await freshFolders());
  const child = launch(["--stdio"], folders, env);
  if (!child.stdin || !child.stdout) throw new Error("the runtime has no pipes");
  return {
    wire: new Wire(child.stdout, child.stdin),
    process: child,
    folders,
    kill: () => stop(child),
    async [Symbol.asyncDispose]() {
      await stop(child);
      if (!given) await folders[Symbol.asyncDispose]();
    },
  };
}

/** A runtime on a TCP port; `open` connects one more client. */
export async function spawnTcp({
  env = {},
}: {
  env?: Record<string, string>;
} = {}): Promise<RawRuntime & { port: number; open(): Promise<Wire> }> {
  const folders = await freshFolders();
  const child = launch([], folders, env);
  const port = await listeningPort(child);
  const sockets: Socket[] = [];
  return {
    port,
    process: child,
    folders,
    async open() {
      const socket = connect({ port, host: "127.0.0.1" });
      await once(socket, "connect");
      sockets.push(socket);
      return new Wire(socket, socket);
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await stop(child);
      await folders[Symbol.asyncDispose]();
    },
  };
}

function listeningPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const port = /listening on port (\d+)/i.exec(text)?.[1];
      if (port) resolve(Number(port));
    });
    child.once("exit", (code) => reject(new Error(`the runtime ended with ${code} before it listened: ${text}`)));
  });
}
