/**
 * The daemon: one process per home that serves the operations over HTTP, on a socket in the home and on the loopback address.
 *
 * The lock is on a file of its own, and the system frees it however the process ends. Everything that was acknowledged is in the
 * store by then; a start has nothing to repair.
 */
import { once } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import type { ListenOptions } from "node:net";
import { join } from "node:path";
import { setImmediate, setTimeout } from "node:timers/promises";
import { createAdaptorServer, type ServerType } from "@hono/node-server";
import { AppError, messageOf } from "@retinue/protocol";
import { type FileLock, lockFile } from "../../store/file-lock.ts";
import { PRIVATE_FILE, writePrivateFile } from "../../store/private-files.ts";
import { readOn } from "../ingest/reading.ts";
import { ownerToken } from "../records/tokens.ts";
import { addressFile, daemonAddress } from "./daemon-client.ts";
import { socketPath } from "./daemon-socket.ts";
import { type OpenContinuity, openContinuity } from "./home.ts";
import { continuityApp } from "./http.ts";

export interface DaemonOptions {
  home: string;
  /** 0: any free one. */
  port?: number;
  env?: NodeJS.ProcessEnv;
  log?: (line: string) => void;
}

export interface Daemon {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves until it is closed. Throws when another daemon has this home. */
export async function runDaemon({ home, port = 0, env = process.env, log = () => {} }: DaemonOptions): Promise<Daemon> {
  const continuity = openContinuity({ home, env });
  let lock: FileLock | undefined;
  try {
    lock = takeLock(home);
    const server = await listen(continuity, { home, port, log });
    writePrivateFile(addressFile(home), JSON.stringify({ pid: process.pid, port: server.port }));
    log(`serving on 127.0.0.1:${server.port}`);
    const stopped = new AbortController();
    const caughtUp = Promise.all([
      catchUp(continuity, { signal: stopped.signal, log }),
      keepTidy(continuity, { signal: stopped.signal, log }),
    ]);
    return { port: server.port, close: () => close({ home, server, continuity, lock, stopped, caughtUp }) };
  } catch (error) {
    lock?.release();
    continuity.close();
    throw error;
  }
}

interface Listening {
  port: number;
  close(): Promise<void>;
}

interface Parts {
  home: string;
  server: Listening;
  continuity: OpenContinuity;
  lock: FileLock | undefined;
  stopped: AbortController;
  caughtUp: Promise<unknown>;
}

async function close({ home, server, continuity, lock, stopped, caughtUp }: Parts): Promise<void> {
  stopped.abort();
  await caughtUp;
  await server.close();
  if (daemonAddress(home)?.pid === process.pid) rmSync(addressFile(home), { force: true });
  lock?.release();
  continuity.close();
}

function takeLock(home: string): FileLock {
  try {
    return lockFile(join(home, "daemon.lock"));
  } catch (error) {
    throw new AppError("session_locked", `A daemon runs for ${home} already`, { cause: error });
  }
}

/** On the port and, where there can be one, on the socket. */
async function listen(
  continuity: OpenContinuity,
  { home, port, log }: { home: string; port: number; log: (line: string) => void },
): Promise<Listening> {
  const onError = (error: unknown) => {
    if (!(error instanceof AppError) || error.code === "store_unavailable") log(`failed: ${messageOf(error)}`);
  };
  const servers: ServerType[] = [];
  const portOf = () => {
    const address = servers[0]?.address();
    return typeof address === "object" ? address?.port : undefined;
  };
  const { fetch } = continuityApp({ continuity, token: ownerToken(home), port: portOf, onError });
  const start = async (place: ListenOptions) => {
    const server = createAdaptorServer({ fetch });
    servers.push(server);
    server.listen(place);
    try {
      await once(server, "listening");
    } catch (error) {
      throw notListening(error, place);
    }
  };
  const close = async () => {
    await Promise.all(servers.filter(({ listening }) => listening).map(end));
  };
  try {
    await start({ host: "127.0.0.1", port });
    const socket = socketPath(home);
    if (socket !== undefined) {
      rmSync(socket, { force: true }); // Of a daemon that was killed: we have the lock.
      await start({ path: socket });
      chmodSync(socket, PRIVATE_FILE);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { port: portOf() ?? 0, close };
}

function notListening(error: unknown, { port, path }: ListenOptions): unknown {
  const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  const words = `Cannot listen on 127.0.0.1:${port}: another program uses this port. Give another --port, or none for any free one.`;
  return isTaken && path === undefined ? new AppError("not_configured", words, { cause: error }) : error;
}

function end(server: ServerType): Promise<void> {
  return new Promise<void>((resolve) => {
    server.close(() => resolve());
    if ("closeIdleConnections" in server) server.closeIdleConnections();
  });
}

const QUIET_MS = 5_000;

/** When nothing was written for a while, merges the pieces of the index, step by step. */
async function keepTidy(
  { transcripts: { index } }: OpenContinuity,
  { signal, log }: { signal: AbortSignal; log: (line: string) => void },
): Promise<void> {
  for (let seen = -1; !signal.aborted; ) {
    await setTimeout(QUIET_MS, undefined, { signal, ref: false }).catch(() => undefined); // Aborted: the loop ends.
    const written = await index.writes();
    if (signal.aborted || written !== seen) {
      seen = written;
      continue;
    }
    try {
      while (!signal.aborted && (await index.tidy())) await setImmediate();
    } catch (error) {
      log(`could not tidy the index: ${messageOf(error)}`);
    }
    seen = await index.writes();
  }
}

const RECENT = 7 * 24 * 3_600_000;

/** Reads what running sessions of other harnesses wrote while no daemon ran; requests go first. */
async function catchUp(
  { transcripts, world }: OpenContinuity,
  { signal, log }: { signal: AbortSignal; log: (line: string) => void },
): Promise<void> {
  const since = world.now() - RECENT;
  for (const session of await transcripts.sessions.followed({ since })) {
    await setImmediate();
    if (signal.aborted) return;
    try {
      await readOn(transcripts, session, { now: world.now() });
    } catch (error) {
      log(`could not catch up with ${session.sessionKey}: ${messageOf(error)}`);
    }
  }
}
