/** Starts, stops and watches the daemon as a process of its own. */
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "@retinue/protocol/errors";
import { withoutMarks } from "../../processes/mark.ts";
import { childEnvironment } from "../../secrets/environment.ts";
import { makePrivateFolder, PRIVATE_FILE, writePrivateFile } from "../../store/private-files.ts";
import { type Address, livingDaemon } from "./daemon-client.ts";

export const logFile = (home: string) => join(home, "daemon.log");
const MAX_LOG = 5 * 1024 * 1024;
const START_MS = 10_000;
const STOP_MS = 10_000;

export interface StartOptions {
  home: string;
  /** How to run this program again: the executable and its first arguments. */
  program: readonly string[];
  port?: number;
  env?: NodeJS.ProcessEnv;
}

/** The running daemon, started when there is none. */
export async function startDaemon(options: StartOptions): Promise<Address & { isNew: boolean }> {
  const running = await livingDaemon(options.home);
  if (running) return { ...running, isNew: false };
  const started = await eventually(async () => {
    const living = await livingDaemon(options.home);
    if (!living) launchDaemon(options);
    return living;
  }, START_MS);
  if (!started) throw new AppError("connection_closed", `The daemon did not start; see ${logFile(options.home)}`);
  return { ...started, isNew: true };
}

/** Starts one for a hook that found none, and does not wait for it. */
export function launchOnDemand(options: StartOptions): void {
  if (options.env?.RETINUE_DAEMON !== "off") launchDaemon(options);
}

/** Names the process that was started last. */
const launchFile = (home: string) => join(home, "daemon.launch");

/** Starts a process, unless somebody has just done so: a second one could take over long after the first was stopped. */
function launchDaemon({ home, program, port, env = process.env }: StartOptions): void {
  const [command, ...args] = program;
  if (command === undefined) throw new AppError("invalid_params", "No program to start the daemon with");
  makePrivateFolder(home);
  if (!claimLaunch(launchFile(home))) return;
  if (existsSync(logFile(home)) && statSync(logFile(home)).size > MAX_LOG)
    renameSync(logFile(home), `${logFile(home)}.1`);
  const log = openSync(logFile(home), "a", PRIVATE_FILE);
  const words = [...args, "daemon", "run", "--home", home, ...(port === undefined ? [] : ["--port", String(port)])];
  // The daemon lives for days and makes only short-lived objects: a small young generation saves 30 MB.
  const lean = childEnvironment({ NODE_OPTIONS: `${env.NODE_OPTIONS ?? ""} --max-semi-space-size=2`.trim() }, env);
  const child = spawn(command, words, {
    detached: true,
    stdio: ["ignore", log, log],
    env: withoutMarks(lean), // It belongs to the home, and not to the agent whose shell started it.
    cwd: home,
  });
  child.on("error", () => {}); // When the program is missing, the daemon does not start, and that is reported.
  child.unref();
  closeSync(log);
  writePrivateFile(launchFile(home), String(child.pid ?? ""));
}

/** False while a process that was started a moment ago is alive: it will serve soon. */
function claimLaunch(marker: string): boolean {
  if (existsSync(marker) && !isUnderWay(marker)) rmSync(marker, { force: true });
  try {
    writeFileSync(marker, "", { flag: "wx", mode: PRIVATE_FILE });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

function isUnderWay(marker: string): boolean {
  if (Date.now() - statSync(marker).mtimeMs > START_MS) return false;
  const pid = Number(readFileSync(marker, "utf8"));
  return pid === 0 || isAlive(pid); // Empty: the process is being started at this moment.
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0); // Signal 0 only checks.
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** False when none ran. */
export async function stopDaemon(home: string): Promise<boolean> {
  const running = await livingDaemon(home);
  if (!running) return false;
  process.kill(running.pid, "SIGTERM");
  const stopped = await eventually(async () => (isAlive(running.pid) ? undefined : true), STOP_MS);
  if (!stopped) throw new AppError("connection_closed", `The daemon ${running.pid} does not stop`);
  return true;
}

export function daemonLog(home: string, lines: number): string[] {
  if (!existsSync(logFile(home))) return [];
  return readFileSync(logFile(home), "utf8").trimEnd().split("\n").slice(-lines);
}

async function eventually<T>(look: () => Promise<T | undefined>, withinMs: number): Promise<T | undefined> {
  const until = performance.now() + withinMs;
  for (let wait = 10; performance.now() < until; wait = Math.min(wait * 2, 200)) {
    const found = await look();
    if (found !== undefined) return found;
    await delay(wait);
  }
  return undefined;
}
