/**
 * The part of the SDK that needs Node: runtime processes, and sockets to them. Loaded only when a connection needs it.
 *
 * Owns processes, sockets and the framing on both. What is sent over them is the client's business.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { AppError, type LongTimer, longTimer, messageOf, streamTransport, type Transport } from "@retinue/protocol";
import { type LaunchOptions, launchArguments, launchEnvironment } from "./launch.ts";
import type {
  Link,
  RuntimeProcess,
  StdioRuntimeConnection,
  TcpRuntimeConnection,
  UriRuntimeConnection,
} from "./link.ts";

const LISTENING = /listening on port (\d+)/i;
const STARTS_WITHIN_MS = 30_000;
const CONNECTS_WITHIN_MS = 10_000;
const EXITS_WITHIN_MS = 1_000;
const STDERR_KEPT = 2_000;

export async function launchStdio(connection: StdioRuntimeConnection, options: LaunchOptions): Promise<Link> {
  const child = await start(connection, options, "pipe");
  const running = watch(child);
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new AppError("runtime_failed", "the runtime's standard streams are not open");
  return { transport: afterExit(streamTransport(stdout, stdin), running), process: running };
}

/** The streams of a dying process end before it does: waits a moment for how it ended. */
function afterExit(transport: Transport, { exited }: RuntimeProcess): Transport {
  return {
    send: (text) => transport.send(text),
    close: () => transport.close(),
    start: (receiver) =>
      transport.start({
        text: (text) => receiver.text(text),
        bad: (reason) => receiver.bad(reason),
        closed: (reason) => {
          const ended = within(EXITS_WITHIN_MS, exited, "the runtime did not exit");
          ended.catch(() => undefined).then(() => receiver.closed(reason)); // The connection is closed even when the process does not exit.
        },
      }),
  };
}

export async function launchTcp(connection: TcpRuntimeConnection, options: LaunchOptions): Promise<Link> {
  const token = connection.connectionToken ?? randomUUID();
  const child = await start({ ...connection, connectionToken: token }, options, "ignore");
  const running = watch(child);
  try {
    const port = await listeningPort(child, running);
    const reopen = () => openSocket("127.0.0.1", port);
    return { transport: await reopen(), process: running, port, token, reopen };
  } catch (error) {
    running.kill("SIGKILL");
    throw error;
  }
}

export async function connectUri({ url, connectionToken }: UriRuntimeConnection): Promise<Link> {
  const { host, port } = parseAddress(url);
  const reopen = () => openSocket(host, port);
  return { transport: await reopen(), token: connectionToken, reopen };
}

/** `port`, `host:port`, `[v6]:port`, with or without `http://`. */
export function parseAddress(url: string): { host: string; port: number } {
  const match = /^(?:https?:\/\/)?(?:(?:\[([^\]]+)\]|([^:/[\]]*)):)?(\d{1,5})\/?$/.exec(url);
  const port = Number(match?.[3]);
  if (!match || port < 1 || port > 65_535) {
    throw new AppError("not_configured", `${url} is not an address: expected port, host:port or http://host:port`);
  }
  return { host: match[1] || match[2] || "127.0.0.1", port };
}

async function start(
  connection: StdioRuntimeConnection | TcpRuntimeConnection,
  options: LaunchOptions,
  stdin: "pipe" | "ignore",
): Promise<ChildProcess> {
  const path = executable(connection.path);
  const args = launchArguments(connection, options);
  const [command, ...rest] = /\.[cm]?js$/.test(path) ? [process.execPath, path, ...args] : [path, ...args];
  const child = spawn(command, rest, {
    cwd: options.workingDirectory,
    env: launchEnvironment(connection, options, process.env),
    stdio: [stdin, "pipe", "pipe"],
    windowsHide: true,
  });
  return new Promise((resolve, reject) => {
    child.once("spawn", () => resolve(child));
    child.once("error", (cause) =>
      reject(new AppError("runtime_failed", `the runtime could not be started: ${cause.message}`, { cause })),
    );
  });
}

function executable(given: string | undefined): string {
  const path = given ?? process.env.RETINUE_PATH ?? process.env.COPILOT_CLI_PATH ?? installed();
  if (path === undefined) {
    throw new AppError(
      "not_configured",
      "no runtime: install retinue, give the connection a `path`, or set RETINUE_PATH",
    );
  }
  if (!existsSync(path)) throw new AppError("not_configured", `there is no runtime at ${path}`);
  return path;
}

/** The `retinue` command: the one installed in this project, otherwise the one installed on the machine. */
function installed(): string | undefined {
  const folders: string[] = [];
  for (let folder = process.cwd(); folder !== folders.at(-1); folder = dirname(folder)) folders.push(folder);
  const places = [
    ...folders.map((folder) => join(folder, "node_modules", ".bin")),
    ...(process.env.PATH ?? "").split(delimiter),
  ];
  return places.map((place) => join(place, "retinue")).find((file) => existsSync(file));
}

function watch(child: ChildProcess): RuntimeProcess {
  let stderr = "";
  let end: string | undefined;
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-STDERR_KEPT);
  });
  const exited = new Promise<void>((resolve) => {
    child.once("close", (code, signal) => {
      end = signal ? `was ended by ${signal}` : `exited with code ${code}`;
      resolve();
    });
  });
  return {
    pid: child.pid,
    exited,
    describeExit: () => end && [end, stderr.trim()].filter((text) => text !== "").join(": "),
    kill: (signal) => {
      child.kill(signal);
    },
  };
}

async function listeningPort(child: ChildProcess, running: RuntimeProcess): Promise<number> {
  let printed = "";
  const listening = new Promise<number>((resolve) => {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      if (printed.length < STDERR_KEPT) printed += text;
      const port = LISTENING.exec(printed)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  });
  const died = running.exited.then(() => {
    throw new AppError("runtime_failed", `the runtime ${running.describeExit()} before it listened`);
  });
  return within(STARTS_WITHIN_MS, Promise.race([listening, died]), "the runtime did not say its port");
}

async function openSocket(host: string, port: number): Promise<Transport> {
  const socket = connect({ host, port, noDelay: true });
  try {
    await within(CONNECTS_WITHIN_MS, connected(socket), `no answer from ${host}:${port}`);
  } catch (error) {
    socket.destroy();
    throw error instanceof AppError ? error : new AppError("connection_closed", messageOf(error), { cause: error });
  }
  return streamTransport(socket, socket);
}

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve();
    });
    socket.once("error", reject);
  });
}

async function within<Value>(ms: number, promise: Promise<Value>, complaint: string): Promise<Value> {
  let timer: LongTimer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = longTimer(() => reject(new AppError("timed_out", `${complaint} within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer?.clear();
  }
}
