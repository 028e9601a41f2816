/**
 * The remote catalog of agents that `agentCatalog` of config.json names.
 *
 * Nobody waits for it: a session has what was fetched last, and a newer answer counts from its next prompt on. The last answer is kept
 * in the home folder with its ETag, for when the endpoint cannot be reached.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { lazy, messageOf, timeoutSignal } from "@retinue/protocol";
import * as z from "zod";
import { NO_REMOTE_AGENTS, type RemoteAgents, remoteAgents } from "../agents/remote-definitions.ts";
import type { AgentCatalogSettings } from "../models/config.ts";
import { addOwnKey } from "../secrets/known-values.ts";
import { writePrivateFile } from "../store/private-files.ts";

export interface AgentCatalogOptions {
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Undefined when none is configured. */
  settings(): AgentCatalogSettings | undefined;
  now(): number;
}

/** The endpoint is asked no more often. */
const PAUSE_MS = 60_000;
const DEFAULT_LIMIT_SECONDS = 10;
const MAX_BYTES = 4 * 1024 * 1024;

const Kept = lazy(() => z.object({ url: z.string(), etag: z.string().optional(), at: z.number(), body: z.unknown() }));
type Kept = z.output<ReturnType<typeof Kept>>;

export class RemoteAgentCatalog {
  readonly #options: AgentCatalogOptions;
  readonly #closing = new AbortController();
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;
  #known: RemoteAgents | undefined;

  constructor(options: AgentCatalogOptions) {
    this.#options = options;
  }

  /** What is known now: another object after each change. Asks the endpoint now and then. */
  current(): RemoteAgents {
    if (!this.#isDue) return this.#known ?? NO_REMOTE_AGENTS;
    const settings = this.#options.settings();
    if (!settings) {
      this.#askedAt = this.#options.now();
      this.#known = undefined;
      return NO_REMOTE_AGENTS;
    }
    this.#known ??= this.#fromCache(settings);
    void this.refresh();
    return this.#known;
  }

  /** Asks the endpoint. Never throws: what went wrong is among the problems. */
  async refresh(): Promise<RemoteAgents> {
    const settings = this.#options.settings();
    if (!settings || this.#closing.signal.aborted) return NO_REMOTE_AGENTS;
    this.#askedAt = this.#options.now();
    this.#asking ??= this.#ask(settings).finally(() => {
      this.#asking = undefined;
    });
    await this.#asking;
    return this.#known ?? NO_REMOTE_AGENTS;
  }

  close(): void {
    this.#closing.abort();
  }

  get #isDue(): boolean {
    return this.#options.now() - this.#askedAt >= PAUSE_MS && !this.#closing.signal.aborted;
  }

  get #file(): string {
    return join(this.#options.home, "agent-catalog.json");
  }

  async #ask(settings: AgentCatalogSettings): Promise<void> {
    const kept = this.#kept(settings);
    try {
      const found = await this.#fetch(settings, kept?.etag);
      const next = found ?? kept;
      if (!next) throw new Error("it says that nothing has changed, and nothing is kept");
      const read = readAgents(next, settings);
      if (found) writePrivateFile(this.#file, JSON.stringify(found));
      if (found || !this.#known || this.#known.problems.length > 0) this.#known = read;
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      const cached = kept ? this.#fromCache(settings) : NO_REMOTE_AGENTS;
      const used = kept ? `so what it gave on ${new Date(kept.at).toISOString()} is used` : "so there are none of it";
      const problem = `The agents of ${settings.url} could not be fetched (${causeOf(error)}), ${used}`;
      this.#known = { agents: cached.agents, problems: [problem, ...cached.problems] };
    }
  }

  /** Undefined when nothing has changed since. */
  async #fetch(settings: AgentCatalogSettings, etag: string | undefined): Promise<Kept | undefined> {
    const { url, timeoutSeconds = DEFAULT_LIMIT_SECONDS } = settings;
    const limit = timeoutSignal(timeoutSeconds * 1000);
    const response = await fetch(url, {
      headers: {
        ...settings.headers,
        ...this.#signIn(settings),
        accept: "application/json",
        ...(etag === undefined ? {} : { "if-none-match": etag }),
      },
      redirect: "error", // The header that signs in is for this address alone.
      signal: AbortSignal.any([this.#closing.signal, limit]),
    });
    if (response.status === 304 && etag !== undefined) return undefined;
    if (!response.ok) throw new Error(`it answered with HTTP ${response.status}`);
    const body: unknown = JSON.parse(await boundedText(response));
    return { url, etag: response.headers.get("etag") ?? undefined, at: this.#options.now(), body };
  }

  #signIn({ url, tokenEnv }: AgentCatalogSettings): { authorization?: string } {
    const { protocol, hostname } = new URL(url);
    const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
    if (protocol !== "https:" && !isLoopback) throw new Error("its address must begin with https://");
    if (tokenEnv === undefined) return {};
    const token = this.#options.env[tokenEnv];
    if (!token) throw new Error(`the variable ${tokenEnv}, which holds its token, is not set`);
    addOwnKey(token);
    return { authorization: `Bearer ${token}` };
  }

  #fromCache(settings: AgentCatalogSettings): RemoteAgents {
    const kept = this.#kept(settings);
    try {
      return kept ? readAgents(kept, settings) : { ...NO_REMOTE_AGENTS };
    } catch {
      return { ...NO_REMOTE_AGENTS }; // Written by another version; it is fetched again.
    }
  }

  #kept({ url }: AgentCatalogSettings): Kept | undefined {
    try {
      const kept = Kept().parse(JSON.parse(readFileSync(this.#file, "utf8")));
      return kept.url === url ? kept : undefined;
    } catch {
      return undefined; // There is none yet, or it is damaged: it is fetched again.
    }
  }
}

function readAgents({ body, url }: Kept, { allowServers = false }: AgentCatalogSettings): RemoteAgents {
  return remoteAgents(body, { url, allowServers });
}

async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`its answer is larger than ${MAX_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function causeOf(error: unknown): string {
  return messageOf(error instanceof TypeError && error.cause instanceof Error ? error.cause : error);
}
