/**
 * Which MCP servers a session has: from its clients, from files and from plugins, without those of a project that nobody has allowed.
 *
 * Owns precedence and consent. When the servers start is in servers.ts.
 */
import { type McpServerConfig, messageOf, visible } from "@retinue/protocol";
import type { AgentDefinition } from "../agents/definition.ts";
import {
  type ConfiguredServer,
  hasProjectServers,
  hasUserServers,
  ofSession,
  strongest,
} from "../mcp/configured-servers.ts";
import type { ProjectGate } from "../project/gate.ts";
import { shellWord } from "../project/shown.ts";
import type { Session } from "../session/session.ts";
import type { Configuration } from "./configuration.ts";

type Configs = Readonly<Record<string, McpServerConfig>>;

export interface ServerSourcesOptions {
  root: Session;
  gate: ProjectGate;
  configuration: Configuration;
  /** Its home folder, and the environment for variables in files. */
  runtime: { home: string; env: Readonly<Record<string, string | undefined>> };
  /** Servers of plugins. */
  pluginServers?(): readonly ConfiguredServer[];
}

export interface ReadServers {
  servers: readonly ConfiguredServer[];
  /** Names of servers that do not start until somebody enables them. */
  off: readonly string[];
}

export class ServerSources {
  readonly #options: ServerSourcesOptions;
  readonly #told = new Set<string>();
  #refused: readonly ConfiguredServer[] = [];

  constructor(options: ServerSourcesOptions) {
    this.#options = options;
  }

  /** Nothing is configured anywhere. */
  get isEmpty(): boolean {
    if (this.#isConsolidating) return true;
    const { runtime, gate } = this.#options;
    if (Object.keys(this.#own).length + this.#ofPlugins.length > 0 || hasUserServers(runtime.home)) return false;
    return !(this.#isProjectRead && hasProjectServers(gate.folder));
  }

  /** What was left out by the last reading because nobody has allowed it. */
  get refused(): readonly (ConfiguredServer & { why: string })[] {
    return this.#refused.map((server) => ({ ...server, why: this.#howToAllow }));
  }

  async read(): Promise<ReadServers> {
    if (this.#isConsolidating) return { servers: [], off: [] };
    const { runtime, configuration } = this.#options;
    const { readUserServers } = await import("../mcp/config-files.ts");
    const user = readUserServers(runtime.home);
    const ofFiles = [...(await this.#ofProject()), ...user.servers, ...this.#ofPlugins];
    const { chosen, problems } = strongest([...ofSession(this.#own), ...ofFiles]);
    for (const problem of [...user.problems, ...problems]) this.#warn("mcp", problem);
    const { disabledMcpServers = [] } = configuration.current;
    const off = chosen.filter(({ isOff }) => isOff).map(({ name }) => name);
    return { servers: await this.#filledIn(chosen), off: [...disabledMcpServers, ...user.disabled, ...off] };
  }

  /** Of an agent's definition: those of a project only if somebody has consented to exactly them. */
  async ofAgent({
    name,
    source,
    mcpServers,
  }: Pick<AgentDefinition, "name" | "source" | "mcpServers">): Promise<Configs> {
    if (this.#isConsolidating) return {};
    if (source !== "project" || Object.keys(mcpServers).length === 0) return mcpServers;
    const servers = Object.entries(mcpServers).map(([server, config]) => ({ name: server, config }));
    const { allowed, refused } = await this.#judge(servers);
    if (refused.length > 0) {
      const what = refused.length === 1 ? "The MCP server" : "The MCP servers";
      const names = refused.map((each) => visible(each.name)).join(", ");
      const message = `${what} ${names} of the agent ${visible(name)} did not start: ${this.#howToAllow}`;
      this.#options.root.announce("session.warning", { warningType: "server_consent", message });
    }
    return Object.fromEntries(allowed.map((each) => [each.name, each.config]));
  }

  /** A process that consolidates a closed session may call no tool of a server, so none is started for it. */
  get #isConsolidating(): boolean {
    return Boolean(this.#options.runtime.env.RETINUE_CONSOLIDATION);
  }

  get #own(): Configs {
    return this.#options.configuration.current.mcpServers ?? {};
  }

  get #ofPlugins(): readonly ConfiguredServer[] {
    return this.#options.pluginServers?.() ?? [];
  }

  get #isProjectRead(): boolean {
    return this.#options.configuration.current.enableConfigDiscovery === true;
  }

  get #howToAllow(): string {
    const folder = shellWord(this.#options.gate.folder);
    return `nobody has allowed this command line or address. To look at it and allow it: retinue trust add ${folder} (in a program: session.permissions.folderTrust.addTrusted).`;
  }

  /** What is left out is listed, and was named when the session was opened. */
  async #ofProject(): Promise<ConfiguredServer[]> {
    this.#refused = [];
    if (!this.#isProjectRead) return [];
    const { readProjectServers } = await import("../mcp/config-files.ts");
    const { servers, problems } = readProjectServers(this.#options.gate);
    const { allowed, refused } = await this.#judge(servers);
    if (this.#options.gate.isTrusted) for (const problem of problems) this.#warn("mcp", problem);
    this.#refused = refused;
    return allowed;
  }

  /** Asks the store, since trust may have been taken away elsewhere. */
  async #judge<Server extends { name: string; config: McpServerConfig }>(
    servers: readonly Server[],
  ): Promise<{ allowed: Server[]; refused: Server[] }> {
    const { gate } = this.#options;
    if (servers.length === 0) return { allowed: [], refused: [] };
    const { serverIdentity, startedIn } = await import("../mcp/server-config.ts");
    await gate.refresh();
    const isAllowed = ({ name, config }: Server) => gate.mayStart(serverIdentity(name, config));
    return {
      // Relative paths were shown as those of the project, wherever the session works by now.
      allowed: servers.filter(isAllowed).map((each) => ({ ...each, config: startedIn(gate.folder, each.config) })),
      refused: servers.filter((each) => !isAllowed(each)),
    };
  }

  /** What a program gives is taken as it is. */
  async #filledIn(servers: readonly ConfiguredServer[]): Promise<ConfiguredServer[]> {
    const { withVariables } = await import("../mcp/variables.ts");
    const { runtime, gate } = this.#options;
    const values = { env: runtime.env, workspaceFolder: gate.folder };
    return servers.flatMap((server) => {
      try {
        return [server.source === "session" ? server : { ...server, config: withVariables(server.config, values) }];
      } catch (error) {
        const { name, from } = server;
        this.#warn("mcp", visible(`${from}: the MCP server ${name}: ${messageOf(error)}, so it is left out`));
        return [];
      }
    });
  }

  /** Each thing once, however often the files are read. */
  #warn(warningType: string, problem: string): void {
    if (this.#told.has(problem)) return;
    this.#told.add(problem);
    const message = /[.?]$/.test(problem) ? problem : `${problem}.`;
    this.#options.root.announce("session.warning", { warningType, message });
  }
}
