/**
 * One run of a hook's command: a process group of its own, in the ledger, with bounded output.
 *
 * What it has left behind in its group ends with it. When it is stopped, what has left the group is looked for as well; the rest of that
 * ends with the family, at the latest when the session closes.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { messageOf } from "@retinue/protocol";
import type { Member, ProcessFamily } from "../processes/family.ts";
import { childEnvironment } from "../secrets/environment.ts";
import { forgetGroupIfGone, killGroup, rememberGroup } from "../tools/shell/process-group.ts";
import { type CommandRun, VARIABLE } from "./file-hook.ts";
import type { CommandEnd } from "./hook-answer.ts";

export interface Command {
  run: CommandRun;
  env: Readonly<Record<string, string>>;
}

export interface CommandOptions {
  payload: string;
  cwd: string;
  env: Readonly<Record<string, string>>;
  family: ProcessFamily;
  signal: AbortSignal;
  /** Takes what is still to be ended when the answer is there. */
  trail(ending: Promise<void>): void;
}

/** Set for hooks, so that a runtime that a hook starts does not run the same hooks again. */
export const IN_HOOK = "RETINUE_IN_HOOK";

const MAX_STDOUT = 1024 * 1024;
const MAX_STDERR = 64 * 1024;
const GRACE_MS = 500;
const DRAIN_MS = 200;

/** Rejects when it could not be started, or when the signal is aborted first. */
export async function runCommand(command: Command, options: CommandOptions): Promise<CommandEnd> {
  const { family, signal, trail } = options;
  signal.throwIfAborted();
  if (!existsSync(options.cwd)) throw new Error(`it could not be started: there is no folder ${options.cwd}`);
  const member = family.member();
  const child = start(command, options, member);
  const output = collect(child);
  const ended = endOf(child);
  ended.catch(() => undefined); // A process that could not be started is reported below.
  try {
    await once(child, "spawn", { signal });
  } catch (error) {
    throw new Error(`it could not be started: ${messageOf(error)}`, { cause: error });
  }
  const pid = child.pid ?? 0;
  rememberGroup(pid, { outlivesUs: false });
  const enters = member.door === undefined ? undefined : writeFile(member.door, String(pid)).catch(() => undefined);
  const recorded = Promise.all([family.started(pid), enters]);
  const stopped = aborted(signal);
  try {
    child.stdin?.end(options.payload);
    const [end] = await Promise.race([Promise.all([ended, recorded]), stopped.promise]);
    trail(endGroup(pid, family));
    return { ...end, ...output() };
  } catch (error) {
    trail(endGroup(pid, family, member));
    throw error;
  } finally {
    stopped.forget();
  }
}

function start(command: Command, { cwd, env }: CommandOptions, member: Member): ChildProcess {
  const environment = childEnvironment(env);
  const more = Object.fromEntries(
    Object.entries(command.env).map(([name, value]) => [name, filled(value, environment)]),
  );
  const [program, args] = programOf(command);
  const child = spawn(program, args, {
    cwd,
    env: member.environment({ ...environment, ...more, [IN_HOOK]: "1" }),
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => undefined); // It need not read its input.
  return child;
}

function programOf({ run }: Command): [string, readonly string[]] {
  if ("program" in run) return [run.program, run.args];
  return process.platform === "win32"
    ? ["powershell", ["-NoProfile", "-Command", run.shell]]
    : ["/bin/sh", ["-c", 'exec "$(command -v bash || echo sh)" -c "$1"', "sh", run.shell]];
}

/** Variables of what is passed on anyway, so no secret can be fetched this way. */
function filled(value: string, env: NodeJS.ProcessEnv): string {
  return value.replaceAll(VARIABLE, (_, braced, plain) => env[braced ?? plain] ?? "");
}

function collect(child: ChildProcess): () => { stdout: string; stderr: string } {
  const read = (stream: ChildProcess["stdout"], most: number) => {
    const chunks: Buffer[] = [];
    let size = 0;
    stream?.on("data", (chunk: Buffer) => {
      if (size < most) chunks.push(chunk.subarray(0, most - size));
      size += chunk.length;
    });
    return () => Buffer.concat(chunks).toString("utf8");
  };
  const [stdout, stderr] = [read(child.stdout, MAX_STDOUT), read(child.stderr, MAX_STDERR)];
  return () => ({ stdout: stdout(), stderr: stderr() });
}

/** A daemon that keeps the pipes open does not hold the hook up. */
function endOf(child: ChildProcess): Promise<Pick<CommandEnd, "code" | "signal">> {
  return new Promise((resolve, reject) => {
    const settle = () => resolve({ code: child.exitCode ?? undefined, signal: child.signalCode ?? undefined });
    child.once("error", reject);
    child.once("close", settle);
    child.once("exit", () => setTimeout(settle, DRAIN_MS).unref());
  });
}

function aborted(signal: AbortSignal): { promise: Promise<never>; forget(): void } {
  let forget: () => void = () => undefined;
  const promise = new Promise<never>((_, reject) => {
    const onAbort = () => reject(new Error("it was stopped"));
    signal.addEventListener("abort", onAbort, { once: true });
    forget = () => signal.removeEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
  });
  promise.catch(() => undefined); // Nobody may be waiting any more.
  return { promise, forget };
}

async function endGroup(pid: number, family: ProcessFamily, member?: Member): Promise<void> {
  if (!forgetGroupIfGone(pid)) await killGroup(pid, { graceMs: GRACE_MS });
  family.groupEnded(pid);
  if (member) await family.endMember(member, { graceMs: GRACE_MS });
}
