/** The MCP servers of a session. */
import type { McpServerConfig, Params, Result } from "@retinue/protocol";
import type { HostedSession } from "../../host/hosted-session.ts";
import { isRunning, signInOf } from "../../mcp/by-name.ts";
import type { McpServerState } from "../../mcp/host.ts";
import { type ListedServer, shownServer } from "../../tree/servers.ts";
import { type CallScope, type Handlers, hosted } from "../handler.ts";

export const mcpHandlers: Handlers = {
  "session.mcp.list": async (params, scope) => await listServers(hosted(params, scope)),
  "session.mcp.listTools": async (params, scope) => {
    const host = await hosted(params, scope).tree.servers.host();
    return { tools: [...(await host.listTools(params.serverName))] };
  },
  "session.mcp.isServerRunning": async (params, scope) => {
    const host = await hosted(params, scope).tree.servers.host();
    return { running: isRunning(host, params.serverName) };
  },
  "session.mcp.enable": async (params, scope) => await onServer(params, scope, (host, name) => host.enable(name)),
  "session.mcp.disable": async (params, scope) => await takeDown(params, scope, (host, name) => host.disable(name)),
  "session.mcp.stopServer": async (params, scope) => await takeDown(params, scope, (host, name) => host.stop(name)),
  "session.mcp.startServer": async (params, scope) => {
    await setConfig(hosted(params, scope), params);
    return await onServer(params, scope, (host, name) => host.start(name));
  },
  "session.mcp.restartServer": async (params, scope) => {
    await setConfig(hosted(params, scope), params);
    return await onServer(params, scope, (host, name) => host.restart(name));
  },
  "session.mcp.reload": async (params, scope) => {
    await hosted(params, scope).tree.servers.reload();
    return {};
  },
  "session.mcp.moveLoadingToBackground": (params, scope) => ({
    movedToBackground: hosted(params, scope).tree.servers.moveToBackground(),
  }),

  "session.mcp.resources.list": async (params, scope) => {
    const host = await hosted(params, scope).tree.servers.host();
    const { resources, nextCursor } = await host.with(params.serverName, (client) =>
      client.listResources(page(params), scope),
    );
    return { resources, ...(nextCursor === undefined ? {} : { nextCursor }) };
  },
  "session.mcp.resources.listTemplates": async (params, scope) => {
    const host = await hosted(params, scope).tree.servers.host();
    const found = await host.with(params.serverName, (client) => client.listResourceTemplates(page(params), scope));
    const { resourceTemplates, nextCursor } = found;
    return { resourceTemplates, ...(nextCursor === undefined ? {} : { nextCursor }) };
  },
  "session.mcp.resources.read": async (params, scope) => {
    const host = await hosted(params, scope).tree.servers.host();
    const { contents } = await host.with(params.serverName, (client) =>
      client.readResource({ uri: params.uri }, scope),
    );
    return { contents };
  },

  "session.mcp.executeSampling": async ({ sessionId, ...wanted }, scope) =>
    await hosted({ sessionId }, scope).tree.sampling.execute(wanted, scope),
  "session.mcp.cancelSamplingExecution": (params, scope) => ({
    cancelled: hosted(params, scope).tree.sampling.cancel(params.requestId),
  }),

  "session.mcp.oauth.login": async (params, scope) => await signIn(params, scope),
  "session.mcp.oauth.handlePendingRequest": (params, scope) => ({
    success: hosted(params, scope).tree.signIns.answer(params.requestId, params.result),
  }),
  "session.mcp.oauth.respond": (params, scope) => ({
    success: hosted(params, scope).tree.signIns.respond(params.requestId),
  }),
  "session.mcp.oauth.authenticationStateChanged": async (params, scope) => {
    const { serverName, refreshSessionToken: isOwnToken } = params;
    await hosted(params, scope).tree.signIns.signedIn(serverName, { isOwnToken });
    return null;
  },
  "session.mcp.oauth.probe": async (params, scope) => {
    const host = await hosted(params, scope).tree.servers.host();
    return await (await signInOf(host, params.serverName)).probe();
  },
};

/** The sign-in goes on after the answer; its end shows in the server's state. */
async function signIn(params: Params<"session.mcp.oauth.login">, scope: CallScope) {
  const { serverName, forceReauth, clientId, clientSecret, grantType } = params;
  const { tree } = hosted(params, scope);
  const host = await tree.servers.host();
  const server = await signInOf(host, serverName);
  const client = { id: clientId, secret: clientSecret };
  if (grantType === "client_credentials") {
    await server.loginAsClient(client);
    await tree.signIns.signedIn(serverName);
    if (!isRunning(host, serverName)) await host.restart(serverName);
    return {};
  }
  if (!forceReauth && (isRunning(host, serverName) || (await server.isIn()))) {
    await tree.signIns.signedIn(serverName);
    await host.start(serverName);
    return {};
  }
  const { authorizationUrl, done } = await server.login({
    isAnew: forceReauth,
    clientName: params.clientName,
    successMessage: params.callbackSuccessMessage,
    isPublic: params.publicClient,
    client,
  });
  const follow = async (): Promise<void> => {
    await done;
    await tree.signIns.signedIn(serverName);
    if (forceReauth || !isRunning(host, serverName)) await host.restart(serverName);
  };
  void follow().catch(() => undefined); // The state of the server says how it went.
  return { authorizationUrl };
}

type Host = Awaited<ReturnType<HostedSession["tree"]["servers"]["host"]>>;
interface OnServer {
  sessionId: string;
  serverName: string;
}

async function onServer(
  params: OnServer,
  scope: CallScope,
  work: (host: Host, name: string) => Promise<void>,
): Promise<Record<string, never>> {
  const { tree } = hosted(params, scope);
  await work(await tree.servers.host(), params.serverName);
  return {};
}

async function takeDown(
  params: OnServer,
  scope: CallScope,
  work: (host: Host, name: string) => Promise<void>,
): Promise<Record<string, never>> {
  const { session } = hosted(params, scope);
  return await onServer(params, scope, async (host, name) => {
    await work(host, name);
    session.announce("session.mcp_server_removed", { serverName: name });
  });
}

/** A server that the session did not have becomes one of its own. */
async function setConfig(
  target: HostedSession,
  { serverName, config }: { serverName: string; config?: McpServerConfig },
): Promise<void> {
  if (!config) return;
  const { servers, configuration } = target.tree;
  await servers.host();
  target.configure({ mcpServers: { ...configuration.current.mcpServers, [serverName]: config } });
}

const page = ({ cursor }: { cursor?: string }) => (cursor === undefined ? {} : { cursor });

async function listServers({ tree, session }: HostedSession): Promise<Result<"session.mcp.list">> {
  const servers = await tree.servers.list();
  const named = (status: McpServerState["status"]) => servers.filter((server) => server.status === status);
  const since = ({ failedAt }: ListedServer) => failedAt ?? session.world.now();
  return {
    servers: servers.map(shownServer),
    host: {
      mcp3pEnabled: true,
      disabledServers: named("disabled").map(({ name }) => name),
      filteredServers: [],
      clients: named("connected").map(({ name }) => name),
      pendingConnections: named("pending").map(({ name }) => name),
      failedServers: Object.fromEntries(
        named("failed").map((server) => [server.name, { message: server.error ?? "", timestamp: since(server) }]),
      ),
      needsAuthServers: Object.fromEntries(
        named("needs-auth").map((server) => [server.name, { timestamp: since(server) }]),
      ),
    },
  };
}
