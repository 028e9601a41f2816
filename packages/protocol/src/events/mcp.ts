/** Events of MCP servers. */
import * as z from "zod";
import { byName } from "../method.ts";
import { flag, lazy, type Of, open, text } from "../schema.ts";
import { event } from "./event.ts";

export const McpServerStatus = lazy(() =>
  z.enum(["connected", "failed", "needs-auth", "pending", "disabled", "stopped", "not_configured"]),
);
export type McpServerStatus = Of<typeof McpServerStatus>;

export const McpServerSource = lazy(() => z.enum(["user", "workspace", "plugin", "builtin", "managed"]));

const serverName = () => z.string();

/** An HTTP answer of an MCP server, as it came. */
export const McpHttpResponse = lazy(() =>
  open({
    statusCode: z.number(),
    headers: z.array(open({ name: z.string(), value: z.string() })),
    /** Absent when it is too long or not text. */
    body: text(),
  }),
);

export const McpAuthenticateParams = lazy(() => open({ error: text(), resourceMetadataUrl: text(), scope: text() }));

/** What a client is told that is asked for a token. */
export const McpSignInRequest = lazy(() =>
  open({
    requestId: z.string(),
    serverName: serverName(),
    serverUrl: z.string(),
    reason: z.enum(["initial", "refresh", "reauth", "upscope"]),
    httpResponse: McpHttpResponse().optional(),
    /** The server's protected-resource metadata (RFC 9728), as JSON. */
    resourceMetadata: text(),
    staticClientConfig: open({
      clientId: z.string(),
      grantType: z.literal("client_credentials").optional(),
      publicClient: flag(),
    }).optional(),
    wwwAuthenticateParams: McpAuthenticateParams().optional(),
  }),
);
export type McpSignInRequest = Of<typeof McpSignInRequest>;

export const MCP_EVENTS = byName(
  event("session.mcp_servers_loaded", {
    persisted: false,
    summary: "The MCP servers of the session are set up.",
    data: () =>
      open({
        servers: z.array(
          open({
            name: z.string(),
            status: McpServerStatus(),
            displayName: text(),
            error: text(),
            source: McpServerSource().optional(),
            pluginName: text(),
            pluginVersion: text(),
            transport: text(),
            serverMetadata: z.object({ instructions: z.string().nullable() }).optional(),
          }),
        ),
      }),
  }),
  event("session.mcp_server_status_changed", {
    persisted: false,
    summary: "An MCP server changed its state.",
    data: () => open({ serverName: serverName(), status: McpServerStatus(), error: text() }),
  }),
  event("session.mcp_server_removed", {
    persisted: false,
    summary: "An MCP server was stopped or disabled.",
    data: () => open({ serverName: serverName() }),
  }),
  event("mcp.oauth_required", {
    persisted: false,
    summary: "An MCP server wants a token. Sent when a client has registered its interest.",
    data: McpSignInRequest,
  }),
  event("mcp.oauth_completed", {
    persisted: false,
    summary: "The request for a token is settled.",
    data: () => open({ requestId: z.string(), outcome: z.enum(["token", "cancelled"]) }),
  }),
  event("mcp.prompts.list_changed", {
    persisted: false,
    summary: "An MCP server changed its prompts.",
    data: () => open({ serverName: serverName() }),
  }),
  event("mcp.resources.list_changed", {
    persisted: false,
    summary: "An MCP server changed its resources.",
    data: () => open({ serverName: serverName() }),
  }),
  event("mcp.tools.list_changed", {
    persisted: false,
    summary: "An MCP server changed its tools.",
    data: () => open({ serverName: serverName() }),
  }),
);
