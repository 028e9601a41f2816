/** The user's own MCP servers, and what is configured for a folder. Open sessions keep what they have until `session.mcp.reload`. */
import type { Result } from "@retinue/protocol";
import { transportOf } from "../../mcp/server-config.ts";
import type { UserServers } from "../../mcp/user-servers.ts";
import type { KnownServer } from "../../workspace/known-servers.ts";
import type { CallScope, Handlers } from "../handler.ts";

/** Loaded when somebody wants to know: few programs do. */
async function userServers({ sessions }: CallScope): Promise<UserServers> {
  const { UserServers } = await import("../../mcp/user-servers.ts");
  return new UserServers(sessions.shared.runtime.home);
}

export const mcpConfigHandlers: Handlers = {
  "mcp.config.list": async (_, scope) => ({ servers: (await userServers(scope)).list() }),
  "mcp.config.add": async ({ name, config }, scope) => {
    await (await userServers(scope)).add(name, config);
    return null;
  },
  "mcp.config.update": async ({ name, config }, scope) => {
    await (await userServers(scope)).update(name, config);
    return null;
  },
  "mcp.config.remove": async ({ name }, scope) => {
    await (await userServers(scope)).remove(name);
    return null;
  },
  "mcp.config.enable": async ({ names }, scope) => {
    await (await userServers(scope)).setDisabled(names, false);
    return null;
  },
  "mcp.config.disable": async ({ names }, scope) => {
    await (await userServers(scope)).setDisabled(names, true);
    return null;
  },
  "mcp.config.reload": () => null,
  "mcp.discover": async ({ workingDirectory = process.cwd(), includeEffectiveSource = false }, { sessions }) => {
    const { documents } = sessions.store;
    const { home } = sessions.shared.runtime;
    const [{ readInstalledSet }, { knownServers }] = await Promise.all([
      import("../../plugins/plugin-set.ts"),
      import("../../workspace/known-servers.ts"),
    ]);
    const { servers: plugins } = readInstalledSet(home);
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
