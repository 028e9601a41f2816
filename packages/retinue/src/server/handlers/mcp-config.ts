/** The user's own MCP servers, and what is configured for a folder. Open sessions keep what they have until `session.mcp.reload`. */
import type { Result } from "@retinue/protocol";
import { transportOf } from "../../mcp/server-config.ts";
import { UserServers } from "../../mcp/user-servers.ts";
import { type KnownServer, knownServers } from "../../workspace/known-servers.ts";
import type { CallScope, Handlers } from "../handler.ts";

const userServers = ({ sessions }: CallScope): UserServers => new UserServers(sessions.shared.runtime.home);

export const mcpConfigHandlers: Handlers = {
  "mcp.config.list": (_, scope) => ({ servers: userServers(scope).list() }),
  "mcp.config.add": ({ name, config }, scope) => {
    userServers(scope).add(name, config);
    return null;
  },
  "mcp.config.update": ({ name, config }, scope) => {
    userServers(scope).update(name, config);
    return null;
  },
  "mcp.config.remove": ({ name }, scope) => {
    userServers(scope).remove(name);
    return null;
  },
  "mcp.config.enable": ({ names }, scope) => {
    userServers(scope).setDisabled(names, false);
    return null;
  },
  "mcp.config.disable": ({ names }, scope) => {
    userServers(scope).setDisabled(names, true);
    return null;
  },
  "mcp.config.reload": () => null,
  "mcp.discover": async ({ workingDirectory = process.cwd(), includeEffectiveSource = false }, { sessions }) => {
    const { documents } = sessions.store;
    const { home } = sessions.shared.runtime;
    const { readPluginSet } = await import("../../plugins/plugin-set.ts");
    const { servers: plugins } = readPluginSet({ home, directories: [], isDiscovering: true });
    const { servers } = await knownServers({ folder: workingDirectory, home, documents, plugins });
    return { servers: servers.map((server) => discovered(server, includeEffectiveSource)) };
  },
};

function discovered(server: KnownServer, withSource: boolean): Result<"mcp.discover">["servers"][number] {
  const { name, config, plugin, state, uri } = server;
  const source = server.source === "session" ? "user" : server.source;
  const file = uri === undefined ? undefined : { uri, jsonPointer: `/mcpServers/${pointerWord(name)}` };
  const isOurs = source === "user";
  return {
    name,
    type: transportOf(config),
    source,
    sourcePlugin: plugin?.name,
    sourcePluginVersion: plugin?.version,
    enabled: state === "on",
    effectiveSource: withSource
      ? { kind: source, id: uri ?? server.from, editability: isOurs ? "editable" : "read-only", file }
      : undefined,
  };
}

const pointerWord = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");
