/**
 * The real fetch behind `web_fetch`, with its guard: it never connects to a loopback, private or link-local address.
 *
 * Names are checked as they are resolved for the connection itself, so that a second answer of a name server changes nothing.
 * A redirect is checked like the first address. It is followed on the same host when the caller's rules have it, and otherwise reported.
 */
import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { TextDecoder } from "node:util";
import { AppError, timeoutSignal } from "@retinue/protocol";
import type { Agent, Response } from "undici";
import type { CallServices } from "../tool.ts";

export type FetchPage = NonNullable<CallServices["fetchPage"]>;
type Page = Awaited<ReturnType<FetchPage>>;

export interface FetchOptions {
  /** Lets addresses of this machine and private networks through: all of them, or those in the list. */
  allowPrivate?: boolean | readonly string[];
  timeoutMs?: number;
  maxBytes?: number;
}

const MAX_REDIRECTS = 10;
const HEADERS = {
  "user-agent": "retinue",
  accept: "text/html, text/markdown, text/plain, application/json, */*;q=0.5",
};

export class WebFetchBlockedUrlError extends Error {
  override readonly name = "WebFetchBlockedUrlError";

  constructor(url: string, address: string) {
    super(
      `web_fetch URL "${url}" resolves to blocked address ${address}. ` +
        "URLs must not target loopback, private, or link-local addresses.",
    );
  }
}

export function createFetchPage({
  allowPrivate = false,
  timeoutMs = 30_000,
  maxBytes = 10 * 1024 * 1024,
}: FetchOptions = {}): FetchPage {
  return async (address, { signal, mayFollow }) => {
    const [{ Agent }, { isPrivateAddress }] = await Promise.all([import("undici"), import("./private-address.ts")]);
    const guard = new Guard((found) => !isPrivateAddress(found) || isExempt(found, allowPrivate));
    const agent = new Agent({ connect: { lookup: guard.lookup, timeout: timeoutMs } });
    const limits = { signal: AbortSignal.any([signal, timeoutSignal(timeoutMs)]), maxBytes };
    try {
      return await follow(new URL(address), { agent, guard, mayFollow, ...limits });
    } catch (error) {
      throw guard.refusal ?? reasonOf(error);
    } finally {
      await agent.destroy();
    }
  };
}

interface Journey {
  agent: Agent;
  guard: Guard;
  mayFollow(url: string): boolean;
  signal: AbortSignal;
  maxBytes: number;
}

async function follow(start: URL, { agent, guard, mayFollow, signal, maxBytes }: Journey): Promise<Page> {
  const { fetch } = await import("undici");
  let url = start;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    await guard.check(url);
    const response = await fetch(url, { dispatcher: agent, redirect: "manual", headers: HEADERS, signal });
    const target = redirectOf(response, url);
    if (!target) return { ...describe(response), url: url.href, body: await readText(response, maxBytes) };
    await response.body?.cancel();
    if (!isSameSite(url, target) || !mayFollow(target.href)) {
      await guard.check(target);
      return { ...describe(response), url: target.href, body: "" };
    }
    url = target;
  }
  throw new AppError("invalid_request", `${start.href} redirects more than ${MAX_REDIRECTS} times`);
}

/** The same host and port, or from plain to encrypted on the usual ones; a user name is for somebody else to send. */
function isSameSite(from: URL, to: URL): boolean {
  const isUpgrade = from.protocol === "http:" && to.protocol === "https:" && from.port === "" && to.port === "";
  return from.hostname === to.hostname && (from.origin === to.origin || isUpgrade) && to.username + to.password === "";
}

const describe = (response: Response) => ({
  status: response.status,
  contentType: response.headers.get("content-type") ?? "",
});

function redirectOf(response: Response, url: URL): URL | undefined {
  const location = response.headers.get("location");
  if (response.status < 300 || response.status > 399 || location === null || !URL.canParse(location, url.href))
    return undefined;
  const target = new URL(location, url);
  return /^https?:$/.test(target.protocol) ? target : undefined;
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) break;
  }
  return decoder(response).decode(Buffer.concat(chunks).subarray(0, maxBytes));
}

function decoder(response: Response): TextDecoder {
  const charset = /charset="?([\w-]+)/i.exec(response.headers.get("content-type") ?? "")?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder(); // An unknown charset is mostly ASCII.
  }
}

function isExempt(address: string, allowPrivate: boolean | readonly string[]): boolean {
  return typeof allowPrivate === "boolean" ? allowPrivate : allowPrivate.includes(address);
}

class Guard {
  readonly #mayReach: (address: string) => boolean;
  #url = "";
  /** Set when an address was refused: the real reason behind the connection's error. */
  refusal: WebFetchBlockedUrlError | undefined;

  constructor(mayReach: (address: string) => boolean) {
    this.#mayReach = mayReach;
  }

  /** Refuses before a connection is made, also where no name is resolved. */
  async check(url: URL): Promise<void> {
    this.#url = url.href;
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const addresses = isIP(host) ? [host] : await resolve(host);
    for (const address of addresses) this.#refuse(address);
  }

  readonly lookup: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      const [first] = found ?? [];
      if (error || !first) return callback(error ?? new Error(`${hostname} has no address`), "", 0);
      try {
        for (const { address } of found) this.#refuse(address);
      } catch (refusal) {
        return callback(refusal instanceof Error ? refusal : new Error(String(refusal)), "", 0);
      }
      if (options.all) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };

  #refuse(address: string): void {
    if (this.#mayReach(address)) return;
    this.refusal = new WebFetchBlockedUrlError(this.#url, address);
    throw this.refusal;
  }
}

function resolve(host: string): Promise<string[]> {
  return new Promise((done, fail) => {
    lookup(host, { all: true }, (error, found) => (error ? fail(error) : done(found.map(({ address }) => address))));
  });
}

/** undici says only "fetch failed"; why is in the cause. */
function reasonOf(error: unknown): unknown {
  return error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
}
