/**
 * The requests of a sign-in. They go to addresses that the MCP server and its authorization server name, so each one is checked.
 *
 * Everything is encrypted, except on this machine. A server on the public internet cannot send us to this machine or into a private
 * network; one that is there itself can name others there. Names are checked as they are resolved for the connection itself.
 */
import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import type { FetchLike } from "@modelcontextprotocol/client";
import { AppError, timeoutSignal, visible } from "@retinue/protocol";

const LIMIT_MS = 30_000;
const MAX_BYTES = 1024 * 1024;

export interface GuardedFetch {
  fetch: FetchLike;
  /** Throws when an address was refused meanwhile: the library goes on without a document that it cannot get. */
  throwRefusal(): void;
}

export function guardedFetch(serverUrl: string, signal: AbortSignal): GuardedFetch {
  const guard = new Guard(new URL(serverUrl));
  return {
    fetch: async (target, init = {}) => {
      const url = new URL(target);
      guard.check(url);
      const { Agent, fetch } = await import("undici");
      const mayReach = await guard.reach();
      if (isIP(bare(url.hostname))) guard.refuseUnless(mayReach(bare(url.hostname)), url);
      const agent = new Agent({
        connect: { lookup: checkedLookup(mayReach, () => guard.refuse(url)), timeout: LIMIT_MS },
      });
      try {
        const response = await fetch(url, {
          method: init.method,
          headers: Object.fromEntries(new Headers(init.headers)),
          body: bodyOf(init.body),
          redirect: "manual",
          dispatcher: agent,
          signal: AbortSignal.any([signal, timeoutSignal(LIMIT_MS)]),
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

/** Throws for an address that must not be opened or asked while signing in to this server. */
export function checkAddress(address: string, serverUrl: string): URL {
  if (!URL.canParse(address)) throw refused(address, "it is not an address");
  const url = new URL(address);
  new Guard(new URL(serverUrl)).check(url);
  return url;
}

/** A name or address of this machine, by its spelling alone. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

class Guard {
  readonly #server: URL;
  #reach: Promise<(address: string) => boolean> | undefined;
  #refusal: AppError | undefined;

  constructor(server: URL) {
    this.#server = server;
  }

  check(url: URL): void {
    const problem = this.#problemOf(url);
    if (problem) throw this.#remember(refused(url.origin === "null" ? url.protocol : url.origin, problem));
  }

  /** Which addresses may be connected to. */
  reach(): Promise<(address: string) => boolean> {
    this.#reach ??= this.#findReach();
    return this.#reach;
  }

  refuse(url: URL): AppError {
    return this.#remember(refused(url.origin, "it leads into a private network, and the server itself is not in one"));
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
    const { isInPrivateNetwork, isPrivateAddress } = await import("../../tools/web/private-address.ts");
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
  throw new Error("a sign-in sends only text");
}

const refused = (address: string, why: string): AppError =>
  new AppError("invalid_request", `the sign-in was stopped: ${visible(address)} is not used, because ${why}`);

/** Not a TypeError, which the library takes for a rule of browsers. */
function unreachable(url: URL, error: unknown): Error {
  const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
  const why = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new Error(`${url.origin} could not be asked: ${why}`, { cause });
}

const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, "");
