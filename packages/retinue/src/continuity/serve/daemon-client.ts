/**
 * Talks to the daemon of a home folder, and finds out whether there is one. Every hook runs this, so it loads little.
 *
 * It speaks only to the owner's daemon: through the socket in the home, or on the port after the daemon has proved that it has the token.
 * What a program says that has not is never used.
 */
import { readFileSync } from "node:fs";
import { Agent, request as httpRequest, type RequestOptions } from "node:http";
import { join } from "node:path";
import { AppError } from "@retinue/protocol/errors";
import { fields, text as textOf } from "../ingest/readers/fields.ts";
import { answerProof, daemonProof, isSame, newWord, PROOF_HEADER, PROOF_PATH, requestProof } from "../records/proof.ts";
import { tokenFile } from "../records/token-file.ts";
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

interface Question {
  method: string;
  path: string;
  /** The body; empty: none. */
  json: string;
  timeoutMs: number;
}

async function ask(home: string, { port }: Address, question: Question): Promise<Answer> {
  const signal = AbortSignal.timeout(question.timeoutMs);
  const token = readToken(home);
  const socket = trustedSocket(home);
  if (socket === undefined) return await askOnPort({ port, token, signal }, question);
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

/** First the daemon proves that it has the token; then the request follows on the same connection, signed. */
async function askOnPort(
  { port, token, signal }: { port: number; token: string; signal: AbortSignal },
  question: Question,
): Promise<Answer> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const place = { host: "127.0.0.1", port, agent, signal };
  try {
    const client = newWord();
    const offer = await exchange(place, { method: "GET", path: `${PROOF_PATH}?nonce=${client}`, json: "" });
    const { nonce, proof } = fields(JSON.parse(offer.text));
    const words = { client, server: textOf(nonce) ?? "" };
    if (!isSame(textOf(proof), daemonProof(token, words, port))) throw stranger();
    const signed = requestProof(token, words, { ...question, port, body: question.json });
    const headers = { authorization: `Proof ${client}.${words.server}.${signed}` };
    const answer = await exchange({ ...place, headers }, { ...question, isFollowing: true });
    const { status, text } = answer;
    if (!isSame(answer.proof, answerProof(token, words, { status, body: text }))) throw stranger();
    return answer;
  } catch (error) {
    throw error instanceof SyntaxError ? stranger() : error;
  } finally {
    agent.destroy();
  }
}

const stranger = () =>
  new AppError("connection_closed", "Another program listens on the daemon's port; nothing was told to it");

interface Answer {
  status: number;
  text: string;
  proof?: string;
}

const MAX_ANSWER = 64 * 1024 * 1024;

function exchange(
  { headers, ...place }: RequestOptions,
  { method, path, json, isFollowing = false }: Omit<Question, "timeoutMs"> & { isFollowing?: boolean },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) =>
      reject(new AppError("connection_closed", `The daemon does not answer: ${error.message}`, { cause: error }));
    const type = json === "" ? {} : { "content-type": "application/json" };
    const asked = httpRequest({ ...place, method, path, headers: { ...headers, ...type } }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > MAX_ANSWER) response.destroy(new Error("the answer is too long"));
      });
      response.on("error", fail);
      const proof = response.headers[PROOF_HEADER];
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 500, text, proof: typeof proof === "string" ? proof : undefined }),
      );
    });
    asked.on("error", fail);
    // Nothing is written before the connection is known: a new one could lead to somebody else.
    asked.on("socket", () => {
      if (isFollowing && !asked.reusedSocket) asked.destroy(new Error("the connection was closed"));
      else asked.end(json === "" ? undefined : json);
    });
  });
}
