/**
 * The MCP servers of one session and of the agents in it.
 *
 * There is one connection per server identity, shared by everybody whose configuration means that server, and closed with the last
 * of them. A use is what an agent holds while it lives; `session.mcp.*` works on servers by name.
 */
import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import { AppError, type McpServerConfig, type McpServerStatus } from "@retinue/protocol";
import type { ProcessLedger } from "../processes/process-ledger.ts";
import type { Tool } from "../tools/tool.ts";
import { Connection, type Use } from "./connection.ts";
import type { Elicit } from "./elicitation.ts";
import type { ServerSignIn } from "./oauth/server-sign-in.ts";
import { type ServerPrompt, serverPrompt } from "./prompts.ts";
import type { Roots } from "./roots.ts";
import type { Sample } from "./sampling.ts";
import { serverIdentity, transportOf } from "./server-config.ts";
import { type ToolCallbacks, toolsOf } from "./tools.ts";

export interface McpHostOptions extends ToolCallbacks {
  workingDirectory: string;
  clientVersion: string;
  /** Where servers are written down, so that the next runtime ends those that a killed one left. */
  processes?: ProcessLedger;
  disabledServers?: readonly string[];
  /** How long a server may take to start, where its configuration does not say. */
  startLimitMs?: number;
  /** How long after each failure in a row a server is started again. */
  restartDelaysMs?: readonly number[];
  onStatus?(change: { serverName: string; status: McpServerStatus; error?: string }): void;
  onToolsChanged?(serverName: string): void;
  /** Absent: nobody can be signed in. */
  signIn?(name: string, config: McpServerConfig): Promise<ServerSignIn | undefined>;
  onOffersChanged?(serverName: string, what: "prompts" | "resources"): void;
  /** Absent: servers learn that nobody can be asked. */
  elicit?: Elicit;
  /** Absent: servers learn that no model can be asked. */
  sample?: Sample;
  /** The folders of the session; absent: servers are not told. */
  roots?: Roots;
}

export interface McpServerState {
  name: string;
  status: McpServerStatus;
  error?: string;
  displayName?: string;
  transport: "stdio" | "http" | "sse";
  serverMetadata?: { instructions: string | null };
}

/** What one agent holds. */
export interface McpUse {
  /** Starts what is not started yet. Never throws: a failure shows in the server's state. */
  ready(): Promise<void>;
  /** Of servers that are connected or were; the array keeps its identity while nothing changes. */
  tools(): readonly Tool[];
  list(): McpServerState[];
  /** Somebody has signed in to a server that is waiting for it. */
  hasNews(): boolean;
  prompts(): ServerPrompt[];
  /** Servers that nobody else uses are gone when this returns. */
  close(): Promise<void>;
}

/** A server that was used before, perhaps by an earlier process. */
export interface ServerRef {
  name: string;
  identity?: string;
}

/** A server that is configured, and how one signs in to it, if one can. */
export interface Reached {
  connection: Connection;
  signIn(): Promise<ServerSignIn | undefined>;
}

interface Shared extends Reached {
  users: Set<McpUse>;
}

export class McpHost {
  readonly #options: McpHostOptions;
  readonly #servers = new Map<string, Shared>();
  readonly #disabled: Set<string>;
  /** Names that were to be kept off before: whoever has enabled one since has decided. */
  readonly #keptOff = new Set<string>();

  constructor(options: McpHostOptions) {
    this.#options = options;
    this.#disabled = new Set(options.disabledServers);
  }

  /**
   * Nothing starts yet: servers start at `ready`, or when they are asked for by name. Those that are `off` start when somebody enables
   * them; one that is in use already stays as it is.
   */
  use(servers: Readonly<Record<string, McpServerConfig>>, { off = [] }: { off?: readonly string[] } = {}): McpUse {
    this.#keepOff(off);
    const held = Object.entries(servers).map(([name, config]) => ({ name, config, shared: this.#share(name, config) }));
    const cache = new ToolCache(
      () => held.map(({ shared, config }) => ({ connection: shared.connection, config })),
      this.#options,
    );
    const use: McpUse = {
      ready: async () => {
        await Promise.allSettled(held.map(({ shared }) => startIfWanted(shared.connection)));
      },
      tools: () => cache.tools(),
      list: () => held.map(({ shared, config }) => stateOf(shared.connection, config)).sort(byName),
      hasNews: () => held.some(({ shared }) => shared.connection.report.hasNews),
      prompts: () =>
        held.flatMap(({ name, shared }) => shared.connection.report.prompts.map((each) => serverPrompt(name, each))),
      close: async () => {
        await Promise.all(held.map(({ name, config }) => this.#release(serverIdentity(name, config), use)));
      },
    };
    for (const { shared } of held) shared.users.add(use);
    return use;
  }

  list(): McpServerState[] {
    const byServer = new Map([...this.#servers.values()].map(({ connection }) => [connection.name, connection]));
    return [...byServer.values()].map((connection) => stateOf(connection, connection.config)).sort(byName);
  }

  async listTools(name: string): Promise<readonly ServerTool[]> {
    const [connection] = this.#named(name);
    await connection?.ready();
    return connection?.tools ?? [];
  }

  /** Uses the client of a server, which is started if necessary. Where the identity is unknown, its settings have changed, and the name counts. */
  async with<T>(server: string | ServerRef, use: Use<T>, options: { signal?: AbortSignal } = {}): Promise<T> {
    const { name, identity = "" } = typeof server === "string" ? { name: server } : server;
    const connection = this.#servers.get(identity)?.connection ?? this.#named(name)[0];
    if (!connection) throw new AppError("not_configured", `MCP server '${name}' is not configured`);
    return await connection.with(use, options);
  }

  /** The servers of this name, or all; none when there is no such server. */
  reached(name?: string): readonly Reached[] {
    return [...this.#servers.values()].filter(({ connection }) => name === undefined || connection.name === name);
  }

  async disable(name: string): Promise<void> {
    const connections = this.#named(name);
    this.#disabled.add(name);
    await Promise.all(connections.map((connection) => connection.hold("disabled")));
  }

  async enable(name: string): Promise<void> {
    const connections = this.#named(name);
    this.#disabled.delete(name);
    await Promise.allSettled(connections.map((connection) => connection.start()));
  }

  async stop(name: string): Promise<void> {
    await Promise.all(this.#named(name).map((connection) => connection.hold("stopped")));
  }

  /** A disabled server stays disabled until `enable`. */
  async start(name: string): Promise<void> {
    const connections = this.#named(name);
    this.#refuseDisabled(name);
    await Promise.allSettled(connections.map((connection) => connection.start()));
  }

  async restart(name: string): Promise<void> {
    const connections = this.#named(name);
    this.#refuseDisabled(name);
    await Promise.allSettled(connections.map((connection) => connection.restart()));
  }

  /** Every server that is not disabled, from the beginning. */
  async reload(): Promise<void> {
    const wanted = [...this.#servers.values()].filter(({ connection }) => !this.#disabled.has(connection.name));
    await Promise.allSettled(wanted.map(({ connection }) => connection.restart()));
  }

  async close(): Promise<void> {
    const all = [...this.#servers.values()];
    this.#servers.clear();
    await Promise.all(all.map(({ connection }) => connection.close()));
  }

  #keepOff(names: readonly string[]): void {
    for (const name of names) {
      if (!this.#keptOff.has(name)) this.#disabled.add(name);
      this.#keptOff.add(name);
    }
  }

  #share(name: string, config: McpServerConfig): Shared {
    const identity = serverIdentity(name, config);
    const known = this.#servers.get(identity);
    if (known) return known;
    const { onStatus, onToolsChanged, onOffersChanged } = this.#options;
    let made: Promise<ServerSignIn | undefined> | undefined;
    const signIn = async () => {
      made ??= this.#options.signIn?.(name, config);
      return await made;
    };
    const connection = new Connection({
      ...this.#options,
      signIn,
      name,
      config,
      isDisabled: this.#disabled.has(name),
      onStatus: (status, error) => onStatus?.({ serverName: name, status, error }),
      onToolsChanged: () => onToolsChanged?.(name),
      onOffersChanged: (what) => onOffersChanged?.(name, what),
    });
    const shared: Shared = { connection, signIn, users: new Set() };
    this.#servers.set(identity, shared);
    return shared;
  }

  async #release(identity: string, use: McpUse): Promise<void> {
    const shared = this.#servers.get(identity);
    if (!shared?.users.delete(use) || shared.users.size > 0) return;
    this.#servers.delete(identity);
    await shared.connection.close();
  }

  #named(name: string): Connection[] {
    const found = [...this.#servers.values()].map(({ connection }) => connection).filter((each) => each.name === name);
    if (found.length === 0) throw new AppError("not_configured", `MCP server '${name}' is not configured`);
    return found;
  }

  #refuseDisabled(name: string): void {
    if (this.#disabled.has(name)) throw new AppError("not_configured", `MCP server '${name}' is disabled`);
  }
}

/** The tools of a use. There is a new array only when a server's list changed; the loop relies on that. */
class ToolCache {
  readonly #servers: () => { connection: Connection; config: McpServerConfig }[];
  readonly #callbacks: ToolCallbacks;
  #from: readonly (readonly ServerTool[])[] | undefined;
  #tools: readonly Tool[] = [];

  constructor(servers: () => { connection: Connection; config: McpServerConfig }[], callbacks: ToolCallbacks) {
    this.#servers = servers;
    this.#callbacks = callbacks;
  }

  tools(): readonly Tool[] {
    const servers = this.#servers();
    const from = servers.map(({ connection }) => connection.tools);
    if (this.#from?.every((list, index) => list === from[index])) return this.#tools;
    this.#from = from;
    const names = { callbacks: this.#callbacks, taken: new Set<string>() };
    this.#tools = servers.flatMap(({ connection, config }) => toolsOf(connection, config, names));
    return this.#tools;
  }
}

/** One that failed is started by a call, by request, or by itself after a while, and never because a turn begins. */
async function startIfWanted(connection: Connection): Promise<void> {
  if (connection.status === "pending" || connection.report.hasNews) await connection.ready();
}

function stateOf(connection: Connection, config: McpServerConfig): McpServerState {
  const { name, status, report } = connection;
  const { error, instructions } = report;
  return {
    name,
    status,
    transport: transportOf(config),
    error,
    displayName: config.displayName,
    serverMetadata: status === "connected" ? { instructions: instructions ?? null } : undefined,
  };
}

const byName = (a: McpServerState, b: McpServerState): number => (a.name < b.name ? -1 : 1);
