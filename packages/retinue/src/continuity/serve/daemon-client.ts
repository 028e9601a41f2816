/**
 * Talks to the daemon of a home folder, and finds out whether there is one. Every hook runs this, so it loads little.
 *
 * It speaks only to the owner's daemon: through the socket in the home, or on the port after the daemon has proved that it has the token.
 * What a program says that has not is never used.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@retinue/protocol/errors";
import { fields } from "../ingest/readers/fields.ts";
import { tokenFile } from "../records/token-file.ts";
import { type Answer, exchange, type Question } from "./daemon-exchange.ts";
import { trustedSocket } from "./daemon-socket.ts";

export interface Address {
  pid: number;
  port: number;
}

export const addressFile = (home: string) => join(home, "daemon.json");

/** The address that the daemon wrote down. It may be gone by now. */
export function daemonAddress(home: string): Address | undefined {
  try {
    const { pid, port } = fields(JSON.parse(readFileSync(addressFile(home), "utf8")));
    return typeof pid === "number" && typeof port === "number" ? { pid, port } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // The file is being written at this moment.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

export interface DaemonRequest {
  home: string;
  method: string;
  path: string;
  body?: unknown;
  timeoutMs?: number;
}

/** Throws `connection_closed` when the daemon does not answer in time, or somebody else answers. */
export async function askDaemon({ home, method, path, body, timeoutMs = 2_000 }: DaemonRequest): Promise<unknown> {
  const address = daemonAddress(home);
  if (!address) throw new AppError("connection_closed", "No daemon runs for this home");
  const json = body === undefined ? "" : JSON.stringify(body);
  const { status, text } = await ask(home, address, { method, path, json, timeoutMs });
  const answer: unknown = JSON.parse(text);
  if (status >= 400) throw new AppError("invalid_params", `The daemon refused: ${text}`, { data: answer });
  return answer;
}

/** The daemon's process, when it answers and is the one that the file names. */
export async function livingDaemon(home: string, timeoutMs = 1_000): Promise<Address | undefined> {
  const address = daemonAddress(home);
  if (!address) return undefined;
  try {
    const { text } = await ask(home, address, { method: "GET", path: "/health", json: "", timeoutMs });
    return fields(JSON.parse(text)).pid === address.pid ? address : undefined;
  } catch (error) {
    if (error instanceof AppError || error instanceof SyntaxError) return undefined; // Nobody is there, or another program.
    throw error;
  }
}

async function ask(
  home: string,
  { port }: Address,
  { timeoutMs, ...question }: Question & { timeoutMs: number },
): Promise<Answer> {
  const signal = AbortSignal.timeout(timeoutMs);
  const token = readToken(home);
  const socket = trustedSocket(home);
  if (socket === undefined) {
    const { askOnPort } = await import("./daemon-port.ts"); // Most hooks have a socket and need none of it.
    return await askOnPort({ port, token, signal }, question);
  }
  const headers = { authorization: `Bearer ${token}` };
  return await exchange({ socketPath: socket, headers, signal }, question);
}

function readToken(home: string): string {
  try {
    return readFileSync(tokenFile(home), "utf8").trim();
  } catch (error) {
    throw new AppError("connection_closed", "The token of the daemon cannot be read", { cause: error });
  }
}
