/**
 * Servers that somebody has configured, and which of them count when two have one name.
 *
 * Whoever brings servers hands over a list of `ConfiguredServer`: the session, files of the project, the user's file, plugins.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type McpServerConfig, visible } from "@retinue/protocol";

/** In the home folder. */
export const USER_FILE = "mcp-config.json";
/** The first counts when both name a server. */
export const PROJECT_FILES: readonly string[] = [".mcp.json", ".vscode/mcp.json"];

/** One look at the disk, for whoever wants to know whether there is anything to read. */
export const hasUserServers = (home: string): boolean => existsSync(join(home, USER_FILE));
export const hasProjectServers = (folder: string): boolean =>
  PROJECT_FILES.some((name) => existsSync(join(folder, name)));

/** From the strongest to the weakest: whoever is nearer to the session knows better. */
export const SERVER_SOURCES = ["session", "workspace", "user", "plugin"] as const;
export type ServerSource = (typeof SERVER_SOURCES)[number];

export interface ConfiguredServer {
  name: string;
  config: McpServerConfig;
  source: ServerSource;
  /** The file or plugin, as a person knows it. */
  from: string;
  /** It does not start until somebody enables it. */
  isOff?: boolean;
  plugin?: { name: string; version?: string };
}

/** One server for each name, and a line for each that is hidden by another. Of one source, the first counts. */
export function strongest(servers: readonly ConfiguredServer[]): { chosen: ConfiguredServer[]; problems: string[] } {
  const byName = new Map<string, ConfiguredServer>();
  const problems: string[] = [];
  const inOrder = [...servers].sort((a, b) => rank(a) - rank(b));
  for (const server of inOrder) {
    const winner = byName.get(server.name);
    if (!winner) byName.set(server.name, server);
    else problems.push(`The MCP server ${visible(server.name)} of ${server.from} is hidden by that of ${winner.from}.`);
  }
  return { chosen: [...byName.values()], problems };
}

const rank = ({ source }: ConfiguredServer): number => SERVER_SOURCES.indexOf(source);

export const configsOf = (servers: readonly ConfiguredServer[]): Record<string, McpServerConfig> =>
  Object.fromEntries(servers.map(({ name, config }) => [name, config]));

export const ofSession = (servers: Readonly<Record<string, McpServerConfig>> = {}): ConfiguredServer[] =>
  Object.entries(servers).map(([name, config]) => ({ name, config, source: "session", from: "the session" }));
