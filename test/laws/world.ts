/**
 * A whole runtime in this process, with a model that follows plans (plan.ts) and clients on linked transports.
 *
 * Owns the folders and closes everything it opened. `restart` is a new runtime on the same home, as after an orderly end.
 */
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { linkedTransports, type Transport } from "@retinue/protocol";
import { type RuntimeConfig, runtimeConfig } from "../../packages/retinue/src/host/config.ts";
import type { Catalog } from "../../packages/retinue/src/models/catalog.ts";
import { modelInfo } from "../../packages/retinue/src/models/model-info.ts";
import {
  type Message,
  ModelError,
  type ModelRequest,
  NO_USAGE,
  type Part,
  type Provider,
} from "../../packages/retinue/src/models/provider.ts";
import { serveConnection } from "../../packages/retinue/src/server/connection.ts";
import { Runtime, type RuntimeOptions } from "../../packages/retinue/src/server/runtime.ts";
import { Gates } from "./gates.ts";
import { LawClient, type LawClientOptions } from "./law-client.ts";
import type { LawHost } from "./law-host.ts";
import { lastMove, nextMove, type Said } from "./plan.ts";
import { Protocol2Client } from "./protocol-2-client.ts";
import { SdkHost } from "./sdk-host.ts";

export interface WorldOptions
  extends Partial<Pick<RuntimeConfig, "maxDepth" | "maxConcurrent" | "hookLimitMs" | "unattended">> {
  /** How much the model can read. */
  maxPromptTokens?: number;
  /** What the model says when it is asked for a summary; nothing by default. */
  summary?: string;
  onRequest?: (request: ModelRequest) => void;
  /** Another store than the usual one. */
  openStore?: RuntimeOptions["openStore"];
  /** A copy of the database of another world, to begin with. */
  database?: string;
  /** The id that the endpoint gives to every call of every answer, as some do. */
  callId?: string;
  /** Where its folders are, or are to be made; a folder of its own by default. */
  root?: string;
}

/** Across all worlds: one may go on with the database of another. */
let calls = 0;

export class World {
  readonly gates = new Gates();
  readonly home: string;
  readonly folder: string;
  readonly temporary: string;
  /** Model calls of sub-agents: how many ran at once, at most. */
  readonly load = { now: 0, most: 0 };
  readonly #root: string;
  readonly #options: WorldOptions;
  readonly #clients: LawHost[] = [];
  #connections: Promise<void>[] = [];
  #runtime: Runtime;

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.#root = options.root ?? realpathSync(mkdtempSync(path.join(tmpdir(), "retinue-laws-")));
    this.home = path.join(this.#root, "home");
    this.folder = path.join(this.#root, "work");
    this.temporary = path.join(this.#root, "tmp");
    for (const folder of [this.folder, this.temporary, this.home]) mkdirSync(folder, { mode: 0o700, recursive: true });
    if (options.database) copyFileSync(options.database, path.join(this.home, "retinue.db"));
    this.#runtime = this.#open();
  }

  get runtime(): Runtime {
    return this.#runtime;
  }

  connect(options: LawClientOptions): LawClient {
    const client = new LawClient(this.#link(), options);
    this.#clients.push(client);
    return client;
  }

  /** A client of any kind. */
  host(options: LawClientOptions): LawHost {
    if (options.attached !== "our SDK" && options.attached !== "protocol 2") return this.connect(options);
    const host =
      options.attached === "our SDK"
        ? new SdkHost(() => this.#link(), options)
        : new Protocol2Client(this.#link(), options);
    this.#clients.push(host);
    return host;
  }

  async createSession(client: LawHost, config: object = {}): Promise<string> {
    await client.greet();
    return await client.create({ workingDirectory: this.folder, ...config });
  }

  async resumeSession(client: LawHost, sessionId: string, config: object = {}): Promise<void> {
    await client.greet();
    await client.resume(sessionId, { workingDirectory: this.folder, ...config });
  }

  /** Resolves when the runtime has handled every closed connection. */
  async disconnected(): Promise<void> {
    await Promise.all(this.#connections);
    this.#connections = [];
  }

  async restart(): Promise<void> {
    await this.#runtime.close();
    this.#runtime = this.#open();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.vanish();
    await this.disconnected();
    await this.#runtime.close();
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }

  /** The client's end of a connection to the runtime that is open now. */
  #link(): Transport {
    const [serverEnd, clientEnd] = linkedTransports();
    const runtime = this.#runtime;
    this.#connections.push(serveConnection(serverEnd, { version: "test", load: async () => runtime }));
    return clientEnd;
  }

  #open(): Runtime {
    const {
      maxPromptTokens,
      summary: _,
      onRequest: __,
      database: ___,
      root: ____,
      callId: _____,
      openStore,
      ...limits
    } = this.#options;
    const config = { ...runtimeConfig({}), home: this.home, tempFolder: this.temporary, ...limits };
    return new Runtime({ config, openStore, catalog: catalogOf(this.#planModel(), maxPromptTokens) });
  }

  #planModel(): Provider {
    const world = this;
    return {
      id: "plans",
      apiEndpoint: "offline",
      async *stream(request, { signal }): AsyncGenerator<Part> {
        const isBelow = request.headers?.["x-interaction-type"] === "conversation-subagent";
        if (isBelow) world.load.most = Math.max(world.load.most, ++world.load.now);
        try {
          yield* world.#answer(request, signal);
        } finally {
          if (isBelow) world.load.now--;
        }
      },
    };
  }

  async *#answer(request: ModelRequest, signal: AbortSignal): AsyncGenerator<Part> {
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    this.#options.onRequest?.(request);
    if (request.headers?.["x-interaction-type"] === "conversation-compaction") {
      if (this.#options.summary) yield { type: "text", delta: this.#options.summary };
      yield { type: "end", reason: "stop", usage: NO_USAGE };
      return;
    }
    const isLast = request.toolChoice === "none";
    const conversation = request.messages.map(said);
    const { gate, fails, text, calls: wanted } = isLast ? lastMove(conversation) : nextMove(conversation);
    if (gate !== undefined) await this.gates.pass(gate, signal);
    if (fails !== undefined) throw new ModelError(fails, { kind: "api", status: 400 });
    if (text !== "") yield { type: "text", delta: text };
    const { callId } = this.#options;
    for (const { id = callId ?? `call-${++calls}`, name, arguments: args } of wanted)
      yield { type: "call", id, name, arguments: JSON.stringify(args) };
    yield {
      type: "end",
      reason: wanted.length > 0 ? "calls" : "stop",
      usage: { ...NO_USAGE, inputTokens: 10, outputTokens: 5 },
    };
  }
}

function said(message: Message): Said {
  switch (message.role) {
    case "user":
      return { role: "user", text: typeof message.content === "string" ? message.content : "" };
    case "assistant":
      return { role: "assistant", text: message.text };
    case "tool":
      return { role: "tool", text: message.text };
  }
}

function catalogOf(provider: Provider, maxPromptTokens?: number): Catalog {
  const choice = { id: "plans", wireModel: "plans", provider, info: modelInfo({ maxPromptTokens }) };
  return {
    forSession: () => ({
      known: () => ({ models: [], isComplete: false }),
      choose: (model) => (model === undefined || model === "plans" ? choice : { ...choice, id: model }),
    }),
    list: async () => [],
  };
}
