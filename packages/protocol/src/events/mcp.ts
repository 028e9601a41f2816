/** Events of MCP servers. */
import * as z from "zod";
import { byName } from "../method.ts";
import { lazy, type Of, open, text } from "../schema.ts";
import { event } from "./event.ts";

export const McpServerStatus = lazy(() =>
  z.enum(["connected", "failed", "needs-auth", "pending", "disabled", "stopped", "not_configured"]),
);
export type McpServerStatus = Of<typeof McpServerStatus>;

export const McpServerSource = lazy(() => z.enum(["user", "workspace", "plugin", "builtin", "managed"]));

const serverName = () => z.string();

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
  event("mcp.tools.list_changed", {
    persisted: false,
    summary: "An MCP server changed its tools.",
    data: () => open({ serverName: serverName() }),
  }),
);
