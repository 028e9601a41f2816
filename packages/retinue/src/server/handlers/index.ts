/** The table of handlers: every method that this runtime serves beyond the handshake. */
import type { Handlers } from "../handler.ts";
import { agentHandlers } from "./agents.ts";
import { askHandlers } from "./asks.ts";
import { catalogHandlers } from "./catalog.ts";
import { commandHandlers } from "./commands.ts";
import { connectionHandlers } from "./connection.ts";
import { eventLogHandlers } from "./event-log.ts";
import { fleetHandlers } from "./fleet.ts";
import { historyHandlers } from "./history.ts";
import { instructionHandlers } from "./instructions.ts";
import { mcpHandlers } from "./mcp.ts";
import { mcpConfigHandlers } from "./mcp-config.ts";
import { metadataHandlers } from "./metadata.ts";
import { modeHandlers } from "./mode-plan.ts";
import { modelHandlers } from "./model.ts";
import { permissionHandlers } from "./permissions.ts";
import { pluginHandlers } from "./plugins.ts";
import { queueHandlers } from "./queue.ts";
import { sessionHandlers } from "./sessions.ts";
import { shellHandlers } from "./shell.ts";
import { skillHandlers } from "./skills.ts";
import { taskHandlers } from "./tasks.ts";
import { toolHandlers } from "./tools.ts";
import { uiHandlers } from "./ui.ts";
import { workspaceHandlers } from "./workspaces.ts";

export const handlers: Handlers = {
  ...connectionHandlers,
  ...sessionHandlers,
  ...catalogHandlers,
  ...askHandlers,
  ...agentHandlers,
  ...taskHandlers,
  ...fleetHandlers,
  ...modeHandlers,
  ...toolHandlers,
  ...permissionHandlers,
  ...uiHandlers,
  ...queueHandlers,
  ...historyHandlers,
  ...modelHandlers,
  ...metadataHandlers,
  ...eventLogHandlers,
  ...commandHandlers,
  ...skillHandlers,
  ...instructionHandlers,
  ...pluginHandlers,
  ...mcpHandlers,
  ...mcpConfigHandlers,
  ...workspaceHandlers,
  ...shellHandlers,
};
