/**
 * Requests to addresses that somebody else has written: an MCP server and its authorization server for a sign-in, a file for a hook.
 *
 * Everything is encrypted, except on this machine. A server on the public internet cannot send us to this machine or into a private
 * network; one that is there itself can name others there. Names are checked as they are resolved for the connection itself.
 */
import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { AppError, timeoutSignal, visible } from "@retinue/protocol";

const LIMIT_MS = 30_000;
const MAX_BYTES = 1024 * 1024;
const SIGN_IN = "the sign-in";

export interface GuardedFetch {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Throws when an address was refused meanwhile: the library goes on without a document that it cannot get. */
  throwRefusal(): void;
}

export interface GuardedFetchOptions {
  /** What is stopped when an address is refused. */
  what?: string;
  /** How long one request may take. */
  limitMs?: number;
}

/** `serverUrl` is the address that somebody has agreed to; it decides where the others may be. */
export function guardedFetch(
  serverUrl: string,
  signal: AbortSignal,
  { what = SIGN_IN, limitMs = LIMIT_MS }: GuardedFetchOptions = {},
): GuardedFetch {
  const guard = new Guard(new URL(serverUrl), what);
  return {
    fetch: async (target, init = {}) => {
      const url = new URL(target);
      guard.check(url);
      const { Agent, fetch } = await import("undici");
      const mayReach = await guard.reach();
      if (isIP(bare(url.hostname))) guard.refuseUnless(mayReach(bare(url.hostname)), url);
      const agent = new Agent({
        connect: { lookup: checkedLookup(mayReach, () => guard.refuse(url)), timeout: limitMs },
        headersTimeout: limitMs,
        bodyTimeout: limitMs,
      });
      try {
        const response = await fetch(url, {
          method: init.method,
          headers: Object.fromEntries(new Headers(init.headers)),
          body: bodyOf(init.body),
          redirect: "manual",
          dispatcher: agent,
          signal: AbortSignal.any([signal, timeoutSignal(limitMs)]),
        });
        const { status } = response;
        const text = await readText(response.body, url);
        // A status of 204 or 304 may have no body at all, not even an empty one.
        return new Response(text === "" ? null : text, { status, headers: Object.fromEntries(response.headers) });
      } catch (error) {
        guard.throwRefusal();
        throw unreachable(url, error);
      } finally {
        await agent.destroy();
      }
    },
    throwRefusal: () => guard.throwRefusal(),
  };
}

/** Throws for an address that must not be opened or asked on behalf of this server. */
export function checkAddress(address: string, serverUrl: string, { what = SIGN_IN }: { what?: string } = {}): URL {
  if (!URL.canParse(address)) throw refused(what, address, "it is not an address");
  const url = new URL(address);
  new Guard(new URL(serverUrl), what).check(url);
  return url;
}

/** A name or address of this machine, by its spelling alone. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

class Guard {
  readonly #server: URL;
  readonly #what: string;
  #reach: Promise<(address: string) => boolean> | undefined;
  #refusal: AppError | undefined;

  constructor(server: URL, what: string) {
    this.#server = server;
    this.#what = what;
  }

  check(url: URL): void {
    const problem = this.#problemOf(url);
    if (problem) throw this.#remember(refused(this.#what, url.origin === "null" ? url.protocol : url.origin, problem));
  }

  /** Which addresses may be connected to. */
  reach(): Promise<(address: string) => boolean> {
    this.#reach ??= this.#findReach();
    return this.#reach;
  }

  refuse(url: URL): AppError {
    const why = "it leads into a private network, and the server itself is not in one";
    return this.#remember(refused(this.#what, url.origin, why));
  }

  refuseUnless(isFine: boolean, url: URL): void {
    if (!isFine) throw this.refuse(url);
  }

  throwRefusal(): void {
    if (this.#refusal) throw this.#refusal;
  }

  #problemOf(url: URL): string | undefined {
    if (url.username + url.password !== "") return "it has a user name or a password";
    if (isLoopback(url)) {
      if (!isLoopback(this.#server)) return "it is on this machine, and the server is not";
      return /^https?:$/.test(url.protocol) ? undefined : "it is not a web address";
    }
    return url.protocol === "https:" ? undefined : "it is not encrypted (https)";
  }

  async #findReach(): Promise<(address: string) => boolean> {
    if (isLoopback(this.#server)) return () => true;
    const { isInPrivateNetwork, isPrivateAddress } = await import("./private-address.ts");
    const isInside = (await addressesOf(bare(this.#server.hostname))).some(isInPrivateNetwork);
    return (address) => !isPrivateAddress(address) || (isInside && isInPrivateNetwork(address));
  }

  #remember(refusal: AppError): AppError {
    this.#refusal ??= refusal;
    return refusal;
  }
}

function checkedLookup(mayReach: (address: string) => boolean, refuse: () => Error): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found = []) => {
      if (error) return callback(error, "");
      if (!found.every(({ address }) => mayReach(address))) return callback(refuse(), "");
      const [first] = found;
      if (options.all) callback(null, found);
      else callback(null, first?.address ?? "", first?.family);
    });
  };
}

function addressesOf(host: string): Promise<string[]> {
  if (isIP(host)) return Promise.resolve([host]);
  return new Promise((done) => {
    // A name that does not resolve is in no private network.
    lookup(host, { all: true }, (error, found) => done(error ? [] : found.map(({ address }) => address)));
  });
}

async function readText(body: AsyncIterable<Uint8Array> | null, url: URL): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`${url.origin} sent more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The library sends forms and JSON. */
function bodyOf(body: RequestInit["body"]): string | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string" || body instanceof URLSearchParams) return body.toString();
  throw new Error("only text is sent");
}

const refused = (what: string, address: string, why: string): AppError =>
  new AppError("invalid_request", `${what} was stopped: ${visible(address)} is not used, because ${why}`);

/** Not a TypeError, which the library takes for a rule of browsers. */
function unreachable(url: URL, error: unknown): Error {
  const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
  const why = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new Error(`${url.origin} could not be asked: ${why}`, { cause });
}

const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, "");
