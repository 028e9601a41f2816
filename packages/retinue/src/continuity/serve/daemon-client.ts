/** Talks to the daemon of a home folder, and finds out whether there is one. Every hook runs this, so it loads little. */
import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { AppError } from "@retinue/protocol/errors";
import { fields } from "../ingest/readers/fields.ts";
import { tokenFile } from "../records/token-file.ts";

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

/** Throws `connection_closed` when nobody answers in time. */
export async function askDaemon({ home, method, path, body, timeoutMs = 2_000 }: DaemonRequest): Promise<unknown> {
  const address = daemonAddress(home);
  if (!address) throw new AppError("connection_closed", "No daemon runs for this home");
  const { status, text } = await exchange({
    port: address.port,
    method,
    path,
    body,
    timeoutMs,
    token: readToken(home),
  });
  const answer: unknown = JSON.parse(text);
  if (status >= 400) throw new AppError("invalid_params", `The daemon refused: ${text}`, { data: answer });
  return answer;
}

/** The daemon's process, when it answers and is the one that the file names. */
export async function livingDaemon(home: string, timeoutMs = 1_000): Promise<Address | undefined> {
  const address = daemonAddress(home);
  if (!address) return undefined;
  try {
    const { text } = await exchange({ port: address.port, method: "GET", path: "/health", timeoutMs });
    return fields(JSON.parse(text)).pid === address.pid ? address : undefined;
  } catch (error) {
    if (error instanceof AppError || error instanceof SyntaxError) return undefined; // Nobody is there, or another program.
    throw error;
  }
}

function readToken(home: string): string {
  return readFileSync(tokenFile(home), "utf8").trim();
}

interface Exchange {
  port: number;
  method: string;
  path: string;
  body?: unknown;
  token?: string;
  timeoutMs: number;
}

function exchange({ port, method, path, body, token, timeoutMs }: Exchange): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) =>
      reject(new AppError("connection_closed", `The daemon does not answer: ${error.message}`, { cause: error }));
    const headers = {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const asked = httpRequest(
      { host: "127.0.0.1", port, method, path, headers, signal: AbortSignal.timeout(timeoutMs) },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("error", fail);
        response.on("end", () => resolve({ status: response.statusCode ?? 500, text }));
      },
    );
    asked.on("error", fail);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
