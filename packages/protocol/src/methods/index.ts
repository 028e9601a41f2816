/** All methods by wire name, and their types. */
import type * as z from "zod";
import { type Method, readParams } from "../method.ts";
import type { Of } from "../schema.ts";
import { AGENT_METHODS } from "./agent.ts";
import { CLIENT_CALLS, NOTIFICATIONS } from "./client-calls.ts";
import { COMMAND_METHODS } from "./commands.ts";
import { CONNECTION_METHODS } from "./connection.ts";
import { EVENT_LOG_METHODS } from "./event-log.ts";
import { FLEET_METHODS } from "./fleet.ts";
import { HISTORY_METHODS } from "./history.ts";
import { INSTRUCTION_METHODS } from "./instructions.ts";
import { MCP_METHODS } from "./mcp.ts";
import { METADATA_METHODS } from "./metadata.ts";
import { MODE_METHODS, PLAN_METHODS } from "./mode-plan.ts";
import { MODEL_METHODS } from "./model.ts";
import { OPTION_METHODS } from "./options.ts";
import { PERMISSION_METHODS } from "./permissions.ts";
import { PLUGIN_METHODS } from "./plugins.ts";
import { QUEUE_METHODS } from "./queue.ts";
import { SESSION_METHODS } from "./sessions.ts";
import { CATALOG_METHODS } from "./sessions-catalog.ts";
import { SHELL_METHODS } from "./shell.ts";
import { SKILL_METHODS } from "./skills.ts";
import { TASK_METHODS } from "./tasks.ts";
import { TOOL_METHODS } from "./tools.ts";
import { UI_METHODS } from "./ui.ts";
import { WORKSPACE_METHODS } from "./workspaces.ts";

export { CLIENT_CALLS, NOTIFICATIONS };

/** What clients call. */
export const SERVER_METHODS = {
  ...CONNECTION_METHODS,
  ...SESSION_METHODS,
  ...TASK_METHODS,
  ...AGENT_METHODS,
  ...FLEET_METHODS,
  ...MODE_METHODS,
  ...PLAN_METHODS,
  ...TOOL_METHODS,
  ...PERMISSION_METHODS,
  ...UI_METHODS,
  ...QUEUE_METHODS,
  ...HISTORY_METHODS,
  ...MODEL_METHODS,
  ...OPTION_METHODS,
  ...METADATA_METHODS,
  ...EVENT_LOG_METHODS,
  ...COMMAND_METHODS,
  ...SKILL_METHODS,
  ...INSTRUCTION_METHODS,
  ...PLUGIN_METHODS,
  ...MCP_METHODS,
  ...WORKSPACE_METHODS,
  ...SHELL_METHODS,
  ...CATALOG_METHODS,
};

/** Every message that has a name, whichever side sends it. */
export const METHODS = { ...SERVER_METHODS, ...CLIENT_CALLS, ...NOTIFICATIONS };

/** Methods that a client calls on a runtime. */
export type ServerMethodName = keyof typeof SERVER_METHODS;
/** Methods that a runtime calls on a client. */
export type ClientCallName = keyof typeof CLIENT_CALLS;
export type NotificationName = keyof typeof NOTIFICATIONS;
export type MethodName = keyof typeof METHODS;

export type Params<M extends MethodName> = Of<(typeof METHODS)[M]["params"]>;
/** The same before defaults are filled in: what a caller writes. */
export type ParamsInput<M extends MethodName> = z.input<ReturnType<(typeof METHODS)[M]["params"]>>;
export type Result<M extends MethodName> = Of<(typeof METHODS)[M]["result"]>;

export function isServerMethod(name: string): name is ServerMethodName {
  return Object.hasOwn(SERVER_METHODS, name);
}

/** Parameters that a handler can trust. Throws `invalid_params` with one line when they do not fit. */
export function parseParams<M extends MethodName>(name: M, params: unknown): Params<M> {
  const found: Method = METHODS[name];
  return readParams(found, params) as Params<M>;
}
