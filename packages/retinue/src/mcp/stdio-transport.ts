/**
 * An MCP server as a child process, over its standard input and output.
 *
 * The process leads a group of its own, and the whole group ends with the connection: a server that was started through a wrapper
 * (npx, a shell script) leaves nothing behind. So does what has left the group (processes/family.ts). The library's own transport ends only the process that it started.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { type JSONRPCMessage, ReadBuffer, serializeMessage, type Transport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import { AppError } from "@retinue/protocol";
import { type Member, ProcessFamily } from "../processes/family.ts";
import { killGroup, rememberGroup } from "../tools/shell/process-group.ts";
import type { LocalServer } from "./server-config.ts";

/** A well-behaved server ends by itself when its input ends. */
const LEAVE_MS = 500;
const GRACE_MS = 1000;
const DRAIN_MS = 200;
const STDERR_CHARS = 2000;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #config: LocalServer;
  readonly #cwd: string;
  readonly #family: ProcessFamily;
  readonly #buffer = new ReadBuffer();
  #process: ChildProcess | undefined;
  #stderr = "";
  /** Why it was ended by us. */
  #fault: string | undefined;
  /** It is we who end it, so its end explains nothing. */
  #isClosed = false;
  #ended: Promise<void> | undefined;
  /** The same, when nothing of it is left and it is known how it ended. */
  #gone: Promise<void> | undefined;
  #delivery: Promise<void> = Promise.resolve();

  constructor(config: LocalServer, options: { cwd: string; family?: ProcessFamily }) {
    this.#config = config;
    this.#cwd = config.cwd ?? options.cwd;
    this.#family = options.family ?? new ProcessFamily();
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  /** The end of its stderr, which usually says why it failed. */
  get stderr(): string {
    return this.#stderr.trim();
  }

  /** It was started and has ended. */
  get hasEnded(): boolean {
    return this.#process?.pid !== undefined && (this.#process.exitCode ?? this.#process.signalCode) !== null;
  }

  async start(): Promise<void> {
    const member = this.#family.member();
    const child = spawn(this.#config.command, this.#config.args ?? [], {
      cwd: this.#cwd,
      env: member.environment({ ...getDefaultEnvironment(), ...this.#config.env }),
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    this.#process = child;
    child.stdout.on("data", (chunk: Buffer) => this.#receive(chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-STDERR_CHARS);
    });
    for (const stream of [child.stdout, child.stderr]) stream.on("error", (error) => this.onerror?.(error));
    // Whoever waits for an answer would wait in vain.
    child.stdin.on("error", (error) => this.#giveUp(new Error(`it reads its input no more (${error.message})`)));
    this.#ended = ended(child);
    child.stdout.once("end", () => void this.#onOutputEnd());
    try {
      await once(child, "spawn");
    } catch (error) {
      await this.#family.end({ graceMs: 0 });
      throw new AppError("not_configured", `failed to start ${this.#config.command}: ${this.#reasonOf(error)}`, {
        cause: error,
      });
    }
    const { pid } = child;
    if (pid !== undefined) await this.#adopt(pid, member);
    this.#gone = this.#ended.then(() => this.#onEnd());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#process?.stdin;
    if (!stdin?.writable) {
      await this.#gone; // It has ended, or is about to: then it is known how.
      throw new AppError("connection_closed", "the server's input is closed");
    }
    if (stdin.write(serializeMessage(message))) return;
    const drained = once(stdin, "drain").catch((error: unknown) => {
      throw new AppError("connection_closed", "the server's input is closed", { cause: error });
    });
    await Promise.race([drained, this.#ended]);
  }

  /** Returns when no process of the group is left. */
  async close(): Promise<void> {
    const child = this.#process;
    if (child?.pid === undefined) return;
    this.#isClosed ||= !this.hasEnded;
    child.stdin?.end();
    const stop = new AbortController();
    await Promise.race([this.#ended, delay(LEAVE_MS, undefined, { signal: stop.signal }).catch(ignoreAbort)]);
    stop.abort();
    await this.#endAll(child.pid);
    await this.#ended;
  }

  /** A server that cannot be written down would be left behind by a kill, so it is ended. */
  async #adopt(pid: number, { door }: Member): Promise<void> {
    rememberGroup(pid, { outlivesUs: false });
    try {
      // Where it cannot enter the control group, the mark has to be enough.
      const entered = door === undefined ? undefined : writeFile(door, String(pid)).catch(() => undefined);
      await Promise.all([this.#family.started(pid), entered]);
    } catch (error) {
      await this.#endAll(pid);
      throw error;
    }
  }

  async #endAll(pid: number): Promise<void> {
    await killGroup(pid, { graceMs: GRACE_MS });
    this.#family.groupEnded(pid);
    await this.#family.end({ graceMs: GRACE_MS });
  }

  /** No answer can come any more. One that is about to end by itself may say why. */
  async #onOutputEnd(): Promise<void> {
    const stop = new AbortController();
    const late = delay(LEAVE_MS, "late", { signal: stop.signal }).catch(ignoreAbort);
    const first = await Promise.race([this.#ended, late]);
    stop.abort();
    if (first === "late") this.#giveUp(new Error("it closed its output"));
  }

  /** The system blames the command also when it is the folder that is missing. */
  #reasonOf(error: unknown): string {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) return asError(error).message;
    return existsSync(this.#cwd) ? "No such file or directory" : `there is no folder ${this.#cwd}`;
  }

  /** It cannot be talked to any more, so it is ended. */
  #giveUp(error: Error): void {
    if (this.#fault !== undefined) return;
    this.#fault = error.message;
    this.onerror?.(error);
    void this.close();
  }

  #receive(chunk: Buffer): void {
    if (this.#fault !== undefined) return;
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      this.#giveUp(asError(error));
      return;
    }
    this.#delivery = this.#delivery
      .then(() => this.#deliver())
      .catch((error: unknown) => this.onerror?.(asError(error)));
  }

  /** Delivers what has arrived, in order. */
  async #deliver(): Promise<void> {
    for (let message = this.#next(); message !== null; message = this.#next()) {
      if (message === undefined) continue;
      this.onmessage?.(message);
      // The library handles a notification a moment later than an answer. Without a pause, an answer in the same chunk would
      // overtake the progress before it, and the progress would be dropped.
      if ("method" in message && !("id" in message)) await nextTurn();
    }
  }

  /** null: nothing more for now; undefined: a line that is not a message, since servers print such lines. */
  #next(): JSONRPCMessage | null | undefined {
    try {
      return this.#buffer.readMessage();
    } catch (error) {
      this.onerror?.(asError(error));
      return undefined;
    }
  }

  async #onEnd(): Promise<void> {
    const child = this.#process;
    if (child?.pid !== undefined) await this.#endAll(child.pid);
    await this.#delivery;
    const how = child?.signalCode ? `signal ${child.signalCode}` : `exit code ${child?.exitCode}`;
    const why = this.#fault ?? (this.#isClosed ? "" : `the process ended with ${how}`);
    this.#stderr = [this.#stderr.trim(), why].filter(Boolean).join("\n");
    this.onclose?.();
  }
}

/** Resolves when the process and its output have ended; a helper that keeps the pipes open does not hold it up for long. */
function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("error", () => resolve());
    child.once("close", () => resolve());
    child.once("exit", () => setTimeout(resolve, DRAIN_MS).unref());
  });
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error && error.name === "AbortError")) throw error;
}
