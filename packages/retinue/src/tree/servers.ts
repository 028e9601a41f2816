/**
 * The MCP servers of one session tree: those of the session, and those that agent definitions name.
 *
 * Owns when they start: with the session and with each change of what is configured, without anybody waiting for it. A prompt waits a little
 * for servers that are starting. Which servers there are is in server-sources.ts, the connections are in mcp/, which is loaded only when
 * there is a server.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { McpServerStatus } from "@retinue/protocol";
import type { AgentDefinition } from "../agents/definition.ts";
import { type ConfiguredServer, configsOf } from "../mcp/configured-servers.ts";
import type { McpHost, McpServerState, McpUse } from "../mcp/host.ts";
import type { ServerPrompt } from "../mcp/prompts.ts";
import type { ProcessLedger } from "../processes/process-ledger.ts";
import type { Tool } from "../tools/tool.ts";
import { type ServerEventsOptions, serverEvents } from "./server-events.ts";
import type { ServerSignIns } from "./server-sign-ins.ts";
import { ServerSources, type ServerSourcesOptions } from "./server-sources.ts";

/** What of an agent's definition decides about its servers. */
type ServerOwner = Pick<AgentDefinition, "name" | "source" | "mcpServers">;

export interface TreeServersOptions extends ServerEventsOptions, ServerSourcesOptions {
  processes: ProcessLedger;
  signIns: Pick<ServerSignIns, "of" | "follow" | "close">;
  runtime: ServerSourcesOptions["runtime"] & {
    version: string;
    /** How long a prompt waits for servers that are starting, counted from their start. */
    serverWaitMs: number;
    /** How long a server may take to start, where its configuration does not say. */
    serverStartMs: number;
  };
}

/** A server as `session.mcp.list` shows it. */
export type ListedServer = Omit<McpServerState, "transport"> &
  Partial<Pick<McpServerState, "transport">> &
  Partial<Pick<ConfiguredServer, "source" | "plugin">> & {
    /** When it failed or was turned away. */
    failedAt?: number;
  };

/** The servers that count now, and the hold on their connections. */
interface Held {
  servers: readonly ConfiguredServer[];
  use: McpUse;
}

export class TreeServers {
  readonly #options: TreeServersOptions;
  readonly #sources: ServerSources;
  /** When each failed server failed. */
  readonly #failures = new Map<string, number>();
  readonly #closing = new AbortController();
  #host: McpHost | undefined;
  #held: Held | undefined;
  #isOpen = false;
  /** The latest choice of what is configured; choices are made one after the other. */
  #chosen: Promise<void> = Promise.resolve();
  /** Settles when a prompt need not wait any longer. */
  #waited: Promise<unknown> = Promise.resolve();
  #stopWaiting: (() => void) | undefined;

  constructor(options: TreeServersOptions) {
    this.#options = options;
    this.#sources = new ServerSources(options);
  }

  /** Whether the session or one of its agents has needed servers so far. */
  get isUsed(): boolean {
    return this.#host !== undefined;
  }

  /** Starts what is configured as soon as the session is stored. Nobody waits for it. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    if (this.#sources.isEmpty) return;
    this.#begin(async () => {
      await nextTurn(); // The answer to whoever opens the session goes first.
      await this.#options.root.log.recorded({ signal: this.#closing.signal });
    });
  }

  /** Follows a change of what is configured. A connection that is needed before and after is kept. */
  configured(): void {
    if (this.#isOpen && (this.isUsed || !this.#sources.isEmpty)) this.#begin();
  }

  /** Waits for servers that are starting, but not for long: what starts later is offered then. */
  async ready(): Promise<void> {
    this.open();
    if (this.#held?.use.hasNews()) this.#begin();
    await this.#waited;
  }

  /** Whoever waits for servers goes on without them. Returns whether anybody could have waited. */
  moveToBackground(): boolean {
    const isWaiting = this.#stopWaiting !== undefined;
    this.#stopWaiting?.();
    return isWaiting;
  }

  /** Of the session's own servers. */
  tools(): readonly Tool[] {
    return this.#held?.use.tools() ?? NONE;
  }

  /** Prompts of the session's own servers. */
  prompts(): readonly ServerPrompt[] {
    return this.#held?.use.prompts() ?? [];
  }

  /** When this returns, what is configured is known to the host. */
  async host(): Promise<McpHost> {
    this.open();
    await this.#chosen;
    return this.#host ?? (await this.#load());
  }

  /** Every server of the session and of its agents, and those that may not start. Loads nothing when there is none. */
  async list(): Promise<ListedServer[]> {
    this.open();
    await this.#chosen;
    const held = new Map(this.#held?.servers.map((server) => [server.name, server]));
    const states = this.#host?.list() ?? [];
    const refused = this.#sources.refused.filter(({ name }) => !held.has(name));
    return [
      ...states.map((state) => ({
        ...state,
        source: held.get(state.name)?.source,
        plugin: held.get(state.name)?.plugin,
        failedAt: this.#failures.get(state.name),
      })),
      ...refused.map(({ name, source, why }) => ({ name, source, status: "not_configured" as const, error: why })),
    ];
  }

  /** Reads everything that is configured again, and connects anew. */
  async reload(): Promise<void> {
    this.configured();
    await (await this.host()).reload();
  }

  /** Servers of one agent, besides those of the session. Those of a project start only if somebody has consented to exactly them. */
  async use(owner: ServerOwner): Promise<McpUse | undefined> {
    const servers = await this.#sources.ofAgent(owner);
    if (Object.keys(servers).length === 0) return undefined;
    const host = await this.host();
    return this.#closing.signal.aborted ? undefined : host.use(servers); // Nobody would end what starts after the session.
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#options.signIns.close();
    this.#stopWaiting?.();
    await this.#chosen;
    await this.#host?.close();
    this.#host = undefined;
    this.#held = undefined;
  }

  #begin(after: () => Promise<void> = async () => undefined): void {
    const chosen = this.#chosen.then(after).then(() => this.#choose());
    // A store that refused until the end, or a file that cannot be read: what is to be said about it has been said.
    this.#chosen = chosen.catch(() => undefined);
    const started = this.#chosen.then(() => this.#start());
    this.#waited = Promise.race([started, this.#patience(started)]);
  }

  async #choose(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const { servers, off } = await this.#sources.read();
    const host = this.#host ?? (await this.#load());
    const before = this.#held;
    // New ones first, so that a connection that both lists need is kept.
    this.#held = { servers, use: host.use(configsOf(servers), { off }) };
    await before?.use.close();
  }

  async #start(): Promise<void> {
    const { root } = this.#options;
    const held = this.#held;
    await held?.use.ready();
    if (held !== this.#held || this.#closing.signal.aborted) return; // A later start says how it went.
    root.announce("session.mcp_servers_loaded", { servers: (await this.list()).map(loadedServer) });
  }

  #patience(started: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(stop, this.#options.runtime.serverWaitMs);
      function stop(): void {
        clearTimeout(timer);
        resolve();
      }
      this.#stopWaiting = stop;
      void started.then(() => {
        stop();
        if (this.#stopWaiting === stop) this.#stopWaiting = undefined;
      });
    });
  }

  async #load(): Promise<McpHost> {
    const { McpHost } = await import("../mcp/host.ts");
    const { root, processes, runtime, signIns } = this.#options;
    this.#host ??= new McpHost({
      ...serverEvents(this.#options),
      workingDirectory: root.place.workingDirectory,
      clientVersion: runtime.version,
      processes,
      startLimitMs: runtime.serverStartMs,
      signIn: (name, config) => signIns.of(name, config),
      onStatus: (change) => this.#onStatus(change),
    });
    return this.#host;
  }

  #onStatus(change: { serverName: string; status: McpServerStatus; error?: string }): void {
    const { root } = this.#options;
    const isDown = change.status === "failed" || change.status === "needs-auth";
    if (isDown) this.#failures.set(change.serverName, root.world.now());
    else this.#failures.delete(change.serverName);
    root.announce("session.mcp_server_status_changed", change);
    this.#options.signIns.follow(change);
  }
}

const NONE: readonly Tool[] = [];

/** As the protocol shows it: a server of the session itself has no source. */
export function shownServer({ source, plugin, ...server }: ListedServer) {
  const { name, status, displayName, error, serverMetadata } = server;
  return {
    name,
    status,
    displayName,
    error,
    serverMetadata,
    source: source === "session" ? undefined : source,
    sourcePlugin: plugin?.name,
    sourcePluginVersion: plugin?.version,
  };
}

function loadedServer(server: ListedServer) {
  const { sourcePlugin: pluginName, sourcePluginVersion: pluginVersion, ...shown } = shownServer(server);
  return { ...shown, pluginName, pluginVersion, transport: server.transport };
}
