/**
 * Which MCP servers a session has: from its clients, from files and from plugins, without those of a project that nobody has allowed.
 *
 * Owns precedence and consent. When the servers start is in servers.ts.
 */
import { type McpServerConfig, visible } from "@retinue/protocol";
import type { AgentDefinition } from "../agents/definition.ts";
import { type ConfiguredServer, ofSession, strongest } from "../mcp/configured-servers.ts";
import type { McpServerState } from "../mcp/host.ts";
import type { ProjectGate } from "../project/gate.ts";
import { shellWord } from "../project/shown.ts";
import type { Session } from "../session/session.ts";
import type { Configuration } from "./configuration.ts";

type Configs = Readonly<Record<string, McpServerConfig>>;

export interface ServerSourcesOptions {
  root: Session;
  gate: ProjectGate;
  configuration: Configuration;
  /** Servers of plugins. */
  pluginServers?(): readonly ConfiguredServer[];
}

export class ServerSources {
  readonly #options: ServerSourcesOptions;
  #refused: readonly McpServerState[] = [];

  constructor(options: ServerSourcesOptions) {
    this.#options = options;
  }

  /** Nothing is configured anywhere. */
  get isEmpty(): boolean {
    return Object.keys(this.#own).length + this.#ofPlugins.length === 0;
  }

  /** Names of servers that are switched off from the start. */
  get disabled(): readonly string[] {
    return this.#options.configuration.current.disabledMcpServers ?? [];
  }

  /** What was left out by the last reading because nobody has allowed it. */
  get refused(): readonly McpServerState[] {
    return this.#refused;
  }

  async read(): Promise<readonly ConfiguredServer[]> {
    const { chosen, problems } = strongest([...ofSession(this.#own), ...this.#ofPlugins]);
    for (const message of problems) this.#warn("mcp", message);
    return chosen;
  }

  /** Of an agent's definition: those of a project only if somebody has consented to exactly them. */
  async ofAgent({
    name,
    source,
    mcpServers,
  }: Pick<AgentDefinition, "name" | "source" | "mcpServers">): Promise<Configs> {
    if (source !== "project" || Object.keys(mcpServers).length === 0) return mcpServers;
    return await this.#allowed(`of the agent ${visible(name)}`, mcpServers);
  }

  get #own(): Configs {
    return this.#options.configuration.current.mcpServers ?? {};
  }

  get #ofPlugins(): readonly ConfiguredServer[] {
    return this.#options.pluginServers?.() ?? [];
  }

  /** Asks the store, since trust may have been taken away elsewhere. */
  async #allowed(whose: string, servers: Configs): Promise<Configs> {
    const { gate } = this.#options;
    const { serverIdentity, startedIn } = await import("../mcp/server-config.ts");
    await gate.refresh();
    const isAllowed = ([name, config]: [string, McpServerConfig]) => gate.mayStart(serverIdentity(name, config));
    const all = Object.entries(servers);
    const refused = all.filter((each) => !isAllowed(each)).map(([name]) => visible(name));
    if (refused.length > 0) {
      const what = refused.length === 1 ? "The MCP server" : "The MCP servers";
      const message = `${what} ${refused.join(", ")} ${whose} did not start: nobody has allowed this command line or address. To look at it and allow it: retinue trust add ${shellWord(gate.folder)} (in a program: session.permissions.folderTrust.addTrusted).`;
      this.#warn("server_consent", message);
    }
    // Relative paths were shown as those of the project, wherever the session works by now.
    return Object.fromEntries(all.filter(isAllowed).map(([name, config]) => [name, startedIn(gate.folder, config)]));
  }

  #warn(warningType: string, message: string): void {
    this.#options.root.announce("session.warning", { warningType, message });
  }
}
