/** Calls about MCP servers. */
import * as z from "zod";
import { McpAuthenticateParams, McpHttpResponse, McpServerSource, McpServerStatus } from "../events/mcp.ts";
import { byName, empty, justSession, method, ofSession } from "../method.ts";
import { count, flag, json, jsonObject, lazy, type Of, strings, text } from "../schema.ts";
import { McpServerConfig } from "../session-config.ts";
import { SamplingResult } from "./ui.ts";

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

/** Checked by the handler, which can say what is wrong with it; fields that only other runtimes know stay in the file. */
const named = lazy(() => z.object({ name: z.string(), config: jsonObject() }));
const names = lazy(() => z.object({ names: strings() }));
const nothing = () => z.null();

export const DiscoveredMcpServer = lazy(() =>
  z.object({
    name: z.string(),
    type: z.enum(["stdio", "http", "sse", "memory"]).optional(),
    source: McpServerSource(),
    sourcePlugin: text(),
    sourcePluginVersion: text(),
    effectiveSource: z
      .object({
        kind: z.string(),
        id: z.string(),
        editability: z.string(),
        file: z.object({ uri: z.string(), jsonPointer: text() }).optional(),
      })
      .optional(),
    /** False: switched off, or of a project and not allowed. */
    enabled: z.boolean(),
  }),
);
export type DiscoveredMcpServer = Of<typeof DiscoveredMcpServer>;

const configuration = byName(
  method("mcp.config.list", {
    summary: "The user's own MCP servers: `mcp-config.json` in the home folder.",
    params: empty,
    result: () => z.object({ servers: z.record(z.string(), jsonObject()) }),
  }),
  method("mcp.config.add", { summary: "Adds a server of the user.", params: named, result: nothing }),
  method("mcp.config.update", { summary: "Replaces a server of the user.", params: named, result: nothing }),
  method("mcp.config.remove", {
    summary: "Removes a server of the user.",
    params: () => z.object({ name: z.string(), authClientIdMetadataUrl: text() }),
    result: nothing,
  }),
  method("mcp.config.enable", {
    summary: "Switches servers on for new sessions.",
    params: names,
    result: nothing,
  }),
  method("mcp.config.disable", {
    summary: "Switches servers off for new sessions, wherever they are configured.",
    params: names,
    result: nothing,
  }),
  method("mcp.config.reload", {
    summary: "Does nothing: files are read when a session is opened and at `session.mcp.reload`.",
    params: empty,
    result: nothing,
  }),
  method("mcp.discover", {
    summary: "Every server that a session in this folder would have, and those that it may not start.",
    params: () => z.object({ workingDirectory: text(), includeEffectiveSource: flag() }),
    result: () => z.object({ servers: z.array(DiscoveredMcpServer()) }),
  }),
);

const McpProbe = lazy(() =>
  z.discriminatedUnion("status", [
    z.object({ status: z.literal("no-auth-required"), httpResponse: McpHttpResponse() }),
    z.object({ status: z.literal("authenticated"), httpResponse: McpHttpResponse() }),
    z.object({
      status: z.literal("needs-auth"),
      httpResponse: McpHttpResponse(),
      reason: z.enum(["initial", "refresh", "upscope"]),
      wwwAuthenticateParams: McpAuthenticateParams().optional(),
    }),
    z.object({ status: z.literal("failed"), error: z.string(), httpResponse: McpHttpResponse().optional() }),
  ]),
);
export type McpProbe = Of<typeof McpProbe>;

export const McpTokenAnswer = lazy(() =>
  z.discriminatedUnion("kind", [
    z.object({
      kind: z.literal("token"),
      accessToken: z.string(),
      tokenType: text(),
      /** Seconds. */
      expiresIn: count(),
    }),
    z.object({ kind: z.literal("cancelled") }),
  ]),
);
export type McpTokenAnswer = Of<typeof McpTokenAnswer>;

const accepted = lazy(() => z.object({ success: z.boolean() }));

const oauth = byName(
  method("session.mcp.oauth.login", {
    summary: "Begins a sign-in with a browser and gives the address to open; none when the server lets us in already.",
    params: () =>
      ofSession({
        serverName: z.string(),
        forceReauth: flag(),
        clientName: text(),
        callbackSuccessMessage: text(),
        clientId: text(),
        clientSecret: text(),
        publicClient: flag(),
        grantType: z.enum(["authorization_code", "client_credentials"]).optional(),
      }),
    result: () => z.object({ authorizationUrl: text() }),
  }),
  method("session.mcp.oauth.handlePendingRequest", {
    summary: "Answers `mcp.oauth_required` with a token, or cancels it.",
    params: () => ofSession({ requestId: z.string(), result: McpTokenAnswer() }),
    result: accepted,
  }),
  method("session.mcp.oauth.respond", {
    summary: "Says that a sign-in was made elsewhere: the server is tried again with what is kept.",
    params: () => ofSession({ requestId: z.string() }),
    result: accepted,
  }),
  method("session.mcp.oauth.authenticationStateChanged", {
    summary: "Connects a server again, or all that need a sign-in, after the kept sign-in changed.",
    params: () => ofSession({ serverName: text(), refreshSessionToken: flag() }),
    result: () => z.null(),
  }),
  method("session.mcp.oauth.probe", {
    summary: "Asks a server once whether it lets us in. Changes nothing.",
    params: aServer,
    result: McpProbe,
  }),
);

const sampling = byName(
  method("session.mcp.executeSampling", {
    summary: "Asks the session's model what an MCP server wants to ask, for whoever answers `sampling.requested`.",
    params: () =>
      ofSession({
        /** The caller's own name for it; that of the event says whose bill it is on. */
        requestId: z.string(),
        serverName: z.string(),
        mcpRequestId: json(),
        /** The parameters of `sampling/createMessage`. */
        request: jsonObject(),
      }),
    result: () =>
      z.object({
        action: z.enum(["success", "failure", "cancelled"]),
        result: SamplingResult().optional(),
        error: text(),
      }),
  }),
  method("session.mcp.cancelSamplingExecution", {
    summary: "Stops `session.mcp.executeSampling`.",
    params: () => ofSession({ requestId: z.string() }),
    result: () => z.object({ cancelled: z.boolean() }),
  }),
);

export const MCP_METHODS = { ...servers, ...resources, ...configuration, ...oauth, ...sampling };
