/** Every MCP server that is configured for a folder, whether it may start or not: for `mcp.discover` and the command line. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { readProjectServers, readUserServers } from "../mcp/config-files.ts";
import { type ConfiguredServer, strongest, USER_FILE } from "../mcp/configured-servers.ts";
import { serverIdentity } from "../mcp/server-config.ts";
import { ProjectGate } from "../project/gate.ts";
import { FolderTrust, type FolderTrustOptions } from "../project/trust.ts";

export interface KnownServer extends ConfiguredServer {
  /** The file, if it comes from one. */
  uri?: string;
  /** `unallowed`: of a project, and nobody has consented to it. */
  state: "on" | "off" | "unallowed";
}

export interface KnownServers {
  servers: readonly KnownServer[];
  problems: readonly string[];
}

export interface Place {
  /** Where a session would work. */
  folder: string;
  home: string;
  documents: FolderTrustOptions["documents"];
  plugins?: readonly ConfiguredServer[];
}

export async function knownServers({ folder, home, documents, plugins = [] }: Place): Promise<KnownServers> {
  const unread: string[] = [];
  const gate = new ProjectGate(folder, new FolderTrust({ documents, warn: (message) => unread.push(message) }));
  await gate.refresh();
  const user = readUserServers(home);
  const project = readProjectServers(gate);
  const mayStart = ({ source, name, config }: ConfiguredServer) =>
    source !== "workspace" || gate.mayStart(serverIdentity(name, config));
  const all = [...project.servers, ...user.servers, ...plugins];
  const { chosen, problems } = strongest(all.filter(mayStart));
  // One that may not start hides none.
  const unallowed = all.filter((server) => !mayStart(server));
  const isOff = ({ name, isOff: off }: ConfiguredServer) => off === true || user.disabled.includes(name);
  return {
    servers: [
      ...chosen.map((server) => ({ ...server, uri: uriOf(server, gate, home), state: isOff(server) ? off : on })),
      ...unallowed.map((server) => ({ ...server, uri: uriOf(server, gate, home), state: "unallowed" as const })),
    ],
    problems: [...unread, ...user.problems, ...project.problems, ...problems],
  };
}

const on = "on" as const;
const off = "off" as const;

function uriOf({ source, from }: ConfiguredServer, { folder }: ProjectGate, home: string): string | undefined {
  if (source === "user") return pathToFileURL(join(home, USER_FILE)).href;
  return source === "workspace" ? pathToFileURL(join(folder, from)).href : undefined;
}
