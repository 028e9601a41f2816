/**
 * The built executable on a TCP port, made to be killed: the home folder, the working folder and the model outlive each process.
 *
 * The model is a server of its own that follows plans (test/laws/plan.ts). Disposing ends every process and removes every folder.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { streamTransport, type Transport } from "@retinue/protocol";
import { Gates } from "../laws/gates.ts";
import { LawClient, type LawClientOptions } from "../laws/law-client.ts";
import type { LawHost } from "../laws/law-host.ts";
import { lastMove, nextMove, type Said } from "../laws/plan.ts";
import { Protocol2Client } from "../laws/protocol-2-client.ts";
import { SdkHost } from "../laws/sdk-host.ts";
import { type Answer, calls, say, status } from "../support/model-answers.ts";
import {
  type ChatMessage,
  type Endpoint,
  type ModelRequest,
  type ModelServer,
  startModelServer,
  textOf,
} from "../support/model-server.ts";
import { cleanEnv, type Folders, freshFolders, runtimePath } from "../support/runtime.ts";

export interface CrashableOptions {
  env?: Record<string, string>;
  /** The command that starts the process, in front of it: one that gives it a disk of its own, for example. */
  within?: readonly string[];
}

export class Crashable {
  readonly folders: Folders;
  readonly gates = new Gates();
  readonly #model: ModelServer;
  readonly #endpoint: Endpoint;
  #env: Record<string, string>;
  readonly #within: readonly string[];
  readonly #clients: LawHost[] = [];
  /** Programs whose SDK comes back by itself. */
  readonly #returning: SdkHost[] = [];
  #process: ChildProcess | undefined;
  #sockets: Socket[] = [];
  #port = 0;

  private constructor(folders: Folders, model: ModelServer, { env = {}, within = [] }: CrashableOptions) {
    this.folders = folders;
    this.#model = model;
    this.#env = env;
    this.#within = within;
    this.#endpoint = model.endpoint().reply((request) => this.#answer(request));
  }

  static async start(options: CrashableOptions = {}): Promise<Crashable> {
    const crashable = new Crashable(await freshFolders(), await startModelServer({ record: false }), options);
    await crashable.launch();
    return crashable;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  get session() {
    return {
      workingDirectory: this.folders.folder,
      model: "plans",
      provider: { type: "openai" as const, baseUrl: this.#endpoint.url, apiKey: "k" },
    };
  }

  async launch(): Promise<void> {
    const { home, folder, temporary } = this.folders;
    const runtime = [runtimePath, "--headless", "--no-auto-update", "--log-level", "warn", "--no-auto-login"];
    const [command = process.execPath, ...args] = [...this.#within, process.execPath, ...runtime];
    this.#process = spawn(command, args, {
      cwd: folder,
      env: cleanEnv({ COPILOT_HOME: home, TMPDIR: temporary, ...this.#env }),
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.#port = await listeningPort(this.#process);
  }

  async connect(options: LawClientOptions): Promise<LawClient> {
    const client = new LawClient(await this.#link(), options);
    this.#clients.push(client);
    await client.greet();
    return client;
  }

  /** A client of any kind. One that is written with our SDK outlives each process, and comes back to the next one. */
  async host(options: LawClientOptions): Promise<LawHost> {
    if (options.attached === "our SDK") {
      const program = new SdkHost(() => this.#link(), { ...options, reconnects: true });
      this.#returning.push(program);
      await program.greet();
      return program;
    }
    if (options.attached !== "protocol 2") return await this.connect(options);
    const client = new Protocol2Client(await this.#link(), options);
    this.#clients.push(client);
    await client.greet();
    return client;
  }

  /** Kills it as a crash would: at once, and nothing more is written. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
    for (const socket of this.#sockets.splice(0)) socket.destroy();
    for (const client of this.#clients.splice(0)) client.vanish();
  }

  /** Starts it again with more variables. */
  async relaunch(env: Record<string, string>): Promise<void> {
    this.#env = { ...this.#env, ...env };
    await this.restart();
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.launch();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#returning) program.vanish();
    await this.kill();
    this.#endProcesses();
    await this.#model[Symbol.asyncDispose]();
    await this.folders[Symbol.asyncDispose]();
  }

  async #link(): Promise<Transport> {
    const socket = connect({ port: this.#port, host: "127.0.0.1" });
    await once(socket, "connect");
    socket.on("error", () => undefined); // A killed process breaks its connections.
    this.#sockets.push(socket);
    return streamTransport(socket, socket);
  }

  /** Processes that a killed runtime left behind when a test failed half-way: those that name our temporary folder. */
  #endProcesses(): void {
    for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
      try {
        const isOurs = readFileSync(`/proc/${name}/environ`, "utf8")
          .split("\0")
          .includes(`TMPDIR=${this.folders.temporary}`);
        if (isOurs) process.kill(Number(name), "SIGKILL");
      } catch {
        // It ended meanwhile, or belongs to somebody else.
      }
    }
  }

  async #answer(request: ModelRequest): Promise<Answer> {
    const isLast = request.body.tool_choice === "none";
    const conversation = request.messages.map(said);
    const { gate, fails, text, calls: wanted } = isLast ? lastMove(conversation) : nextMove(conversation);
    if (gate !== undefined) await this.gates.pass(gate);
    if (fails !== undefined) return status(400, { message: fails });
    return wanted.length === 0
      ? say(text)
      : calls(wanted.map(({ name, arguments: args, id }) => ({ name, args, ...(id ? { id } : {}) })));
  }
}

function said(message: ChatMessage): Said {
  const role = message.role === "assistant" || message.role === "tool" ? message.role : "user";
  return { role, text: message.role === "system" ? "" : textOf(message) };
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
