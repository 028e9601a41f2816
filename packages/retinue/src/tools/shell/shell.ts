/**
 * One shell: a command in a process group of its own, its output, and its end.
 *
 * Which shells a session has is in shells.ts. An exit by signal n is the exit code 128 + n, as in a shell.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { closeSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { constants } from "node:os";
import path from "node:path";
import { longTimer } from "@retinue/protocol";
import { makePrivateFolder, PRIVATE_FILE } from "../../store/private-files.ts";
import type { Shell, ShellStart } from "../tool.ts";
import { forgetGroupIfGone, killGroup, rememberGroup, type Signal, signalGroup } from "./process-group.ts";
import { ShellLog } from "./shell-log.ts";
import { type OutputView, ShellOutput } from "./shell-output.ts";

/**
 * stdout and stderr become one stream before the command starts, so that their order is kept. Bash takes a socket on its stdin, which
 * is what our pipe is, for a remote login and would run ~/.bashrc first. The second argument is the door of a control group, if there is one:
 * the shell enters by itself, before anything else runs in it.
 */
const ONE_STREAM =
  '[ -z "$2" ] || echo $$ > "$2"; if command -v bash >/dev/null; then exec bash --norc -c "$1" 2>&1; else exec sh -c "$1" 2>&1; fi';
/** Something in the background may hold the output open after the command itself has ended. */
const DRAIN_MS = 100;
const CANNOT_START = 127;

export interface ShellOptions extends ShellStart {
  id: string;
  logFile: string;
  environment: NodeJS.ProcessEnv;
  graceMs: number;
  /** The door of the control group to start in. */
  door?: string;
  /** Ends what the command has started and what has left its process group. */
  endStrays?(): Promise<void>;
  onBackground(shell: Shell): void;
}

export class ShellProcess implements Shell {
  readonly id: string;
  readonly command: string;
  readonly description: string;
  readonly cwd: string;
  readonly detached: boolean;
  readonly startedAt = Date.now();
  readonly pid: number | undefined;
  readonly ended: Promise<{ exitCode: number }>;
  background: boolean;
  endedAt: number | undefined;
  status: "running" | "completed" | "cancelled" = "running";
  exitCode: number | undefined;
  readonly #options: ShellOptions;
  readonly #child: ChildProcess;
  readonly #output: OutputView;
  readonly #events = new EventEmitter<{ output: []; promoted: [] }>();
  #waiters = 0;
  #isKilled = false;

  constructor(options: ShellOptions) {
    this.#options = options;
    this.id = options.id;
    this.command = options.command;
    this.description = options.description;
    this.cwd = options.cwd;
    this.detached = options.detached ?? false;
    this.background = options.background ?? false;
    this.#events.setMaxListeners(0);
    const { child, output } = this.detached ? startDetached(options) : this.#startAttached(options);
    this.#child = child;
    this.#output = output;
    this.pid = child.pid;
    if (child.pid !== undefined) rememberGroup(child.pid, { outlivesUs: this.detached });
    this.ended = this.#end();
  }

  get logPath(): string | undefined {
    return this.#output.logPath;
  }

  get outputBytes(): number {
    return this.#output.bytes;
  }

  /** A call waits for the end now, and will report it. */
  get isAwaited(): boolean {
    return this.#waiters > 0;
  }

  output(): string {
    return this.#output.all();
  }

  read(): string {
    return this.#output.unread();
  }

  write(input: string): boolean {
    const { stdin } = this.#child;
    if (!stdin?.writable || this.status !== "running") return false;
    stdin.write(input);
    return true;
  }

  endInput(): void {
    this.#child.stdin?.end();
  }

  signal(name: Signal): void {
    if (this.pid !== undefined) signalGroup(this.pid, name);
  }

  async kill(): Promise<void> {
    await this.endGroup();
    await this.#options.endStrays?.();
  }

  /** Ends the command and what is left of its process group, and looks no further. */
  async endGroup(): Promise<void> {
    if (this.status === "running") this.#isKilled = true;
    if (this.pid !== undefined) await killGroup(this.pid, { graceMs: this.#options.graceMs });
    await this.ended;
  }

  promote(): void {
    if (this.background || this.status !== "running") return;
    this.background = true;
    this.#events.emit("promoted");
    this.#options.onBackground(this);
  }

  async wait({
    ms,
    signal,
  }: {
    ms: number;
    signal: AbortSignal;
  }): Promise<"ended" | "timeout" | "promoted" | "aborted"> {
    if (this.status !== "running") return "ended";
    const stop = new AbortController();
    this.#waiters++;
    try {
      return await Promise.race([
        this.ended.then(() => "ended" as const),
        after(ms, stop.signal).then(() => "timeout" as const),
        aborted(signal, stop.signal).then(() => "aborted" as const),
        emitted(this.#events, "promoted", stop.signal).then(() => "promoted" as const),
      ]);
    } finally {
      this.#waiters--;
      stop.abort();
    }
  }

  onOutput(listener: () => void): () => void {
    this.#events.on("output", listener);
    return () => this.#events.off("output", listener);
  }

  #startAttached(options: ShellOptions): { child: ChildProcess; output: ShellOutput } {
    const output = new ShellOutput(options.logFile);
    const child = spawn("sh", ["-c", ONE_STREAM, "sh", options.command, options.door ?? ""], {
      cwd: options.cwd,
      env: options.environment,
      detached: true,
      stdio: [options.interactive ? "pipe" : "ignore", "pipe", "ignore"],
    });
    // A command may end without reading what was written to it; its exit code is enough.
    child.stdin?.on("error", () => child.stdin?.destroy());
    child.stdout?.setEncoding("utf8");
    child.stdout?.on("data", (text: string) => {
      output.append(text);
      this.#events.emit("output");
    });
    child.once("error", (error) => output.append(cannotStart(options.cwd, error)));
    child.once("close", () => output.close());
    return { child, output };
  }

  async #end(): Promise<{ exitCode: number }> {
    const exitCode = await exitOf(this.#child);
    if (this.pid !== undefined) forgetGroupIfGone(this.pid);
    await drained(this.#child);
    this.exitCode = exitCode;
    this.endedAt = Date.now();
    this.status = this.#isKilled ? "cancelled" : "completed";
    this.#events.emit("output");
    return { exitCode };
  }
}

/** Its output goes straight into a file: a pipe to us would end with us. */
function startDetached(options: ShellOptions): { child: ChildProcess; output: ShellLog } {
  makePrivateFolder(path.dirname(options.logFile));
  const log = openSync(options.logFile, "a", PRIVATE_FILE);
  try {
    const child = spawn("sh", ["-c", ONE_STREAM, "sh", options.command], {
      cwd: options.cwd,
      env: options.environment,
      detached: true,
      stdio: ["ignore", log, log],
    });
    child.unref();
    return { child, output: new ShellLog(options.logFile) };
  } finally {
    closeSync(log);
  }
}

const cannotStart = (cwd: string, error: Error) => `The shell could not be started in ${cwd}: ${error.message}\n`;

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("error", () => resolve(CANNOT_START));
    child.once("exit", (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

async function drained(child: ChildProcess): Promise<void> {
  const { stdout } = child;
  if (!stdout || stdout.closed || child.pid === undefined) return;
  const stop = new AbortController();
  await Promise.race([emitted(stdout, "close", stop.signal), after(DRAIN_MS, stop.signal)]);
  stop.abort();
  if (stdout instanceof Socket) stdout.unref();
}

/** These three settle when what they wait for happens, and never once `stop` is aborted. */
function after(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = longTimer(resolve, ms);
    stop.addEventListener("abort", () => timer.clear(), { once: true });
  });
}

function aborted(signal: AbortSignal, stop: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true, signal: stop }));
}

function emitted(emitter: EventEmitter, name: string, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => resolve();
    emitter.once(name, done);
    stop.addEventListener("abort", () => emitter.off(name, done), { once: true });
  });
}
