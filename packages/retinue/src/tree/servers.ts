/**
 * The MCP servers of one session tree: those of the session, and those that agent definitions name.
 *
 * Owns when they start and what their messages mean for the session: status, progress, hooks, questions. The connections are in mcp/,
 * which is loaded only when there is a server.
 */
import { type McpServerConfig, visible } from "@retinue/protocol";
import type { AgentDefinition } from "../agents/definition.ts";
import type { Hooks } from "../hooks/hooks.ts";
import type { Agent } from "../loop/agent.ts";
import { callerOf } from "../loop/calls.ts";
import type { McpHost, McpUse } from "../mcp/host.ts";
import type { ProcessLedger } from "../processes/process-ledger.ts";
import type { ProjectGate } from "../project/gate.ts";
import { shellWord } from "../project/shown.ts";
import type { Session } from "../session/session.ts";
import type { Tool } from "../tools/tool.ts";
import type { Configuration } from "./configuration.ts";

type Form = {
  message: string;
  requestedSchema: Record<string, unknown>;
  source?: string;
  callId?: string;
  signal: AbortSignal;
};

/** What of an agent's definition decides about its servers. */
type ServerOwner = Pick<AgentDefinition, "name" | "source" | "mcpServers">;

export interface TreeServersOptions {
  root: Session;
  gate: ProjectGate;
  configuration: Configuration;
  clientVersion: string;
  processes: ProcessLedger;
  hooks: Hooks;
  /** The agent of a session of the tree; the main agent when the session is unknown. */
  agentOf(sessionId: string | undefined): Agent;
  elicit(
    agent: Agent,
    form: Form,
  ): Promise<{ action: "accept" | "decline" | "cancel"; content?: Record<string, unknown> }>;
}

export class TreeServers {
  readonly #options: TreeServersOptions;
  /** When each failed server failed. */
  readonly #failures = new Map<string, number>();
  #mcp: { host: McpHost; use: McpUse } | undefined;

  constructor(options: TreeServersOptions) {
    this.#options = options;
  }

  /** Whether the session or one of its agents has needed servers so far. */
  get isUsed(): boolean {
    return this.#mcp !== undefined;
  }

  get #own(): Readonly<Record<string, McpServerConfig>> {
    return this.#options.configuration.current.mcpServers ?? {};
  }

  get hasOwn(): boolean {
    return Object.keys(this.#own).length > 0;
  }

  /** The session's own servers start at the first prompt. */
  async ready(): Promise<void> {
    if (this.#mcp || this.hasOwn) await (await this.#load()).use.ready();
  }

  /** The states of the session's own servers. */
  tools(): readonly Tool[] {
    return this.#mcp?.use.tools() ?? NONE;
  }

  async host(): Promise<McpHost> {
    return (await this.#load()).host;
  }

  /** Servers of one agent, besides those of the session. Those of a project start only if somebody has consented to exactly them. */
  async use({ name, source, mcpServers }: ServerOwner): Promise<McpUse | undefined> {
    if (Object.keys(mcpServers).length === 0) return undefined;
    const servers = source === "project" ? await this.#allowed(name, mcpServers) : mcpServers;
    if (Object.keys(servers).length === 0) return undefined;
    return (await this.host()).use(servers);
  }

  /** Applies a changed list of servers. New ones start first, so that a connection that both lists need is kept. */
  configured(): void {
    if (!this.#mcp) return;
    const { host, use } = this.#mcp;
    this.#mcp = { host, use: host.use(this.#own) };
    void use.close();
  }

  failedAt(serverName: string): number | undefined {
    return this.#failures.get(serverName);
  }

  async close(): Promise<void> {
    await this.#mcp?.host.close();
    this.#mcp = undefined;
  }

  /** Asks the store, since trust may have been taken away elsewhere. */
  async #allowed(agent: string, servers: ServerOwner["mcpServers"]): Promise<ServerOwner["mcpServers"]> {
    const { gate, root } = this.#options;
    const { serverIdentity, startedIn } = await import("../mcp/server-config.ts");
    await gate.refresh();
    const isAllowed = ([name, config]: [string, McpServerConfig]) => gate.mayStart(serverIdentity(name, config));
    const all = Object.entries(servers);
    const refused = all.filter((each) => !isAllowed(each)).map(([name]) => visible(name));
    if (refused.length > 0) {
      const what = refused.length === 1 ? "The MCP server" : "The MCP servers";
      const message = `${what} ${refused.join(", ")} of the agent ${visible(agent)} did not start: nobody has allowed this command line or address. To look at it and allow it: retinue trust add ${shellWord(gate.folder)} (in a program: session.permissions.folderTrust.addTrusted).`;
      root.announce("session.warning", { warningType: "server_consent", message });
    }
    // Relative paths were shown as those of the project, wherever the session works by now.
    return Object.fromEntries(all.filter(isAllowed).map(([name, config]) => [name, startedIn(gate.folder, config)]));
  }

  async #load(): Promise<{ host: McpHost; use: McpUse }> {
    if (this.#mcp) return this.#mcp;
    const { McpHost } = await import("../mcp/host.ts");
    if (this.#mcp) return this.#mcp;
    const host = new McpHost(this.#hostOptions());
    this.#mcp = { host, use: host.use(this.#own) };
    return this.#mcp;
  }

  #hostOptions(): ConstructorParameters<typeof McpHost>[0] {
    const { root, configuration, clientVersion, processes, hooks, agentOf, elicit } = this.#options;
    return {
      workingDirectory: root.place.workingDirectory,
      clientVersion,
      processes,
      disabledServers: configuration.current.disabledMcpServers,
      onStatus: (change) => {
        const isDown = change.status === "failed" || change.status === "needs-auth";
        if (isDown) this.#failures.set(change.serverName, root.world.now());
        else this.#failures.delete(change.serverName);
        root.announce("session.mcp_server_status_changed", change);
      },
      onProgress: ({ sessionId, callId }, progressMessage) =>
        agentOf(sessionId).session.announce("tool.execution_progress", { toolCallId: callId, progressMessage }),
      beforeCall: async ({ sessionId, callId, serverName, toolName, arguments: args }, { signal }) => {
        if (hooks.isEmpty) return undefined;
        const details = { toolCallId: callId, serverName, toolName, arguments: args };
        const output = await hooks.run("preMcpToolCall", details, { caller: callerOf(agentOf(sessionId)), signal });
        return output?.metaToUse;
      },
      elicit: async ({ server, message, requestedSchema = {}, call }, { signal }) => {
        const { action, content } = await elicit(agentOf(call?.sessionId), {
          message,
          requestedSchema: { ...requestedSchema },
          source: server,
          callId: call?.callId,
          signal,
        });
        return content ? { action, content: formValues(content) } : { action };
      },
    };
  }
}

const NONE: readonly Tool[] = [];

type FormValue = string | number | boolean | string[];

/** The values that a form can have; anything else is not an answer to it. */
function formValues(content: Record<string, unknown>): Record<string, FormValue> {
  const values: Record<string, FormValue> = {};
  for (const [name, value] of Object.entries(content)) if (isFormValue(value)) values[name] = value;
  return values;
}

function isFormValue(value: unknown): value is FormValue {
  if (Array.isArray(value)) return value.every((each) => typeof each === "string");
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
