/**
 * How the daemon and its clients prove on a TCP port that they have the owner's token, without sending it.
 *
 * The port of a daemon that has ended may be taken by any program of any user. So the client sends a random word first and goes on only
 * when the answer shows knowledge of the token; then it signs its request, and believes only an answer that is signed. The port is part of
 * it, so that nobody can pass the words on to the real daemon elsewhere. Each exchange has words of its own and is good for once.
 * connectors/plugin-client.ts has the same in plain JavaScript.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

export const PROOF_PATH = "/proof";
export const PROOF_HEADER = "x-retinue-proof";

/** The two random words of one exchange. */
export interface Words {
  client: string;
  server: string;
}

export interface SignedRequest {
  port: number;
  method: string;
  /** With the query. */
  path: string;
  body: string;
}

export const newWord = () => randomBytes(16).toString("hex");
export const isWord = (text: string) => /^[0-9a-f]{32}$/.test(text);

const digest = (text: string) => createHash("sha256").update(text).digest("base64url");
const mac = (token: string, parts: readonly (string | number)[]) =>
  createHmac("sha256", token).update(parts.join("\n")).digest("base64url");

export const daemonProof = (token: string, { client, server }: Words, port: number) =>
  mac(token, ["daemon", client, server, port]);

export const requestProof = (token: string, { client, server }: Words, request: SignedRequest) =>
  mac(token, ["request", client, server, request.port, request.method, request.path, digest(request.body)]);

export const answerProof = (token: string, { client, server }: Words, answer: { status: number; body: string }) =>
  mac(token, ["answer", client, server, answer.status, digest(answer.body)]);

export function isSame(one: string | undefined, other: string): boolean {
  const [a, b] = [Buffer.from(one ?? ""), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const MAX_OFFERS = 1_000;
const OFFER_MS = 10_000;

/** The daemon's side: words that were given out and not used yet. */
export class Proofs {
  readonly #token: string;
  readonly #now: () => number;
  readonly #offers = new Map<string, { client: string; until: number }>();

  constructor(token: string, now: () => number = () => performance.now()) {
    this.#token = token;
    this.#now = now;
  }

  offer(client: string, port: number): { nonce: string; proof: string } {
    const server = newWord();
    const [oldest] = this.#offers.keys();
    if (this.#offers.size >= MAX_OFFERS && oldest !== undefined) this.#offers.delete(oldest);
    this.#offers.set(server, { client, until: this.#now() + OFFER_MS });
    return { nonce: server, proof: daemonProof(this.#token, { client, server }, port) };
  }

  /** The words of a request that was signed with the token; undefined when it was not. They cannot be used again. */
  accept(credentials: string, request: SignedRequest): Words | undefined {
    const [client = "", server = "", given = ""] = credentials.split(".");
    const offer = this.#offers.get(server);
    this.#offers.delete(server);
    if (!offer || offer.client !== client || offer.until < this.#now()) return undefined;
    const words = { client, server };
    return isSame(given, requestProof(this.#token, words, request)) ? words : undefined;
  }

  sign(words: Words, answer: { status: number; body: string }): string {
    return answerProof(this.#token, words, answer);
  }
}
