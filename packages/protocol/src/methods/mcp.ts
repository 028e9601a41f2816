/** Calls about MCP servers. */
import * as z from "zod";
import { McpServerSource, McpServerStatus } from "../events/mcp.ts";
import { byName, empty, justSession, method, ofSession } from "../method.ts";
import { json, lazy, type Of, strings, text } from "../schema.ts";
import { McpServerConfig } from "../session-config.ts";

const aServer = lazy(() => ofSession({ serverName: z.string() }));
const aServerAndConfig = lazy(() => ofSession({ serverName: z.string(), config: McpServerConfig().optional() }));

export const McpServerInfo = lazy(() =>
  z.object({
    name: z.string(),
    status: McpServerStatus(),
    displayName: text(),
    source: McpServerSource().optional(),
    sourcePlugin: text(),
    sourcePluginVersion: text(),
    error: text(),
    serverMetadata: z.object({ instructions: z.string().nullable() }).optional(),
  }),
);
export type McpServerInfo = Of<typeof McpServerInfo>;

const McpHostState = lazy(() =>
  z.object({
    mcp3pEnabled: z.boolean(),
    disabledServers: strings(),
    filteredServers: strings(),
    clients: strings(),
    pendingConnections: strings(),
    failedServers: z.record(z.string(), z.object({ message: z.string(), timestamp: z.number() })),
    needsAuthServers: z.record(z.string(), z.object({ timestamp: z.number() })),
  }),
);

const servers = byName(
  method("session.mcp.list", {
    summary: "MCP servers and their states.",
    params: justSession,
    result: () => z.object({ servers: z.array(McpServerInfo()), host: McpHostState().optional() }),
  }),
  method("session.mcp.listTools", {
    summary: "Tools of a server.",
    params: aServer,
    result: () => z.object({ tools: z.array(z.object({ name: z.string(), description: text() })) }),
  }),
  method("session.mcp.isServerRunning", {
    summary: "Whether a server is connected.",
    params: aServer,
    result: () => z.object({ running: z.boolean() }),
  }),
  method("session.mcp.enable", { summary: "Switches a server on.", params: aServer, result: empty }),
  method("session.mcp.disable", { summary: "Switches a server off.", params: aServer, result: empty }),
  method("session.mcp.startServer", {
    summary: "Starts a server, with a new configuration if one is given.",
    params: aServerAndConfig,
    result: empty,
  }),
  method("session.mcp.restartServer", {
    summary: "Stops a server and starts it again.",
    params: aServerAndConfig,
    result: empty,
  }),
  method("session.mcp.stopServer", { summary: "Stops a server.", params: aServer, result: empty }),
  method("session.mcp.reload", {
    summary: "Reads what is configured again, and connects all servers anew.",
    params: justSession,
    result: empty,
  }),
  method("session.mcp.moveLoadingToBackground", {
    summary: "Lets prompts go on without servers that are still starting.",
    params: justSession,
    result: () => z.object({ movedToBackground: z.boolean() }),
  }),
);

const resources = byName(
  method("session.mcp.resources.list", {
    summary: "Resources of a server.",
    params: () => ofSession({ serverName: z.string(), cursor: text() }),
    result: () => z.object({ resources: z.array(json()), nextCursor: text() }),
  }),
  method("session.mcp.resources.listTemplates", {
    summary: "Resource templates of a server.",
    params: () => ofSession({ serverName: z.string(), cursor: text() }),
    result: () => z.object({ resourceTemplates: z.array(json()), nextCursor: text() }),
  }),
  method("session.mcp.resources.read", {
    summary: "Reads a resource of a server.",
    params: () => ofSession({ serverName: z.string(), uri: z.string() }),
    result: () => z.object({ contents: z.array(json()) }),
  }),
);

export const MCP_METHODS = { ...servers, ...resources };
