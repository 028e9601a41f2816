/**
 * The tools of a session in the order in which the model sees them: built-in, from MCP servers, of the host.
 *
 * Which of them are offered is in filters.ts. Tools for tasks, skills and plans are made in the rooms that own those.
 */
import { AppError } from "@retinue/protocol";
import { askUserFormTool, askUserTool } from "./builtin/ask-user.ts";
import { bashTool } from "./builtin/bash.ts";
import { createTool } from "./builtin/create.ts";
import { editTool } from "./builtin/edit.ts";
import { globTool } from "./builtin/glob.ts";
import { grepTool } from "./builtin/grep.ts";
import { listBashTool } from "./builtin/list-bash.ts";
import { readBashTool } from "./builtin/read-bash.ts";
import { reportIntentTool } from "./builtin/report-intent.ts";
import { sqlTool } from "./builtin/sql.ts";
import { stopBashTool } from "./builtin/stop-bash.ts";
import { taskCompleteTool } from "./builtin/task-complete.ts";
import { viewTool } from "./builtin/view.ts";
import { webFetchTool } from "./builtin/web-fetch.ts";
import { writeBashTool } from "./builtin/write-bash.ts";
import type { HostTool } from "./host-tool.ts";
import type { OutputLimit } from "./output.ts";
import type { Tool } from "./tool.ts";

export interface BuiltinOptions {
  /** How much output a call may give the model, and where the rest is kept. */
  output?: OutputLimit;
  /** Which form of `ask_user` there is; absent: none. */
  askUser?: "legacy" | "elicitation";
  /** With `task_complete`, for autopilot. */
  autopilot?: boolean;
}

export function builtinTools({ output, askUser, autopilot }: BuiltinOptions = {}): Tool[] {
  return [
    bashTool(output),
    readBashTool(output),
    writeBashTool(output),
    stopBashTool(),
    listBashTool(),
    viewTool(output),
    createTool(),
    editTool(),
    grepTool(output),
    globTool(output),
    webFetchTool(),
    sqlTool(output),
    reportIntentTool(),
    ...(askUser === "legacy" ? [askUserTool()] : []),
    ...(askUser === "elicitation" ? [askUserFormTool()] : []),
    ...(autopilot ? [taskCompleteTool()] : []),
  ];
}

/** A host tool that overrides a built-in one is listed among the host tools. Of two tools of servers with one name, the later counts. */
export function orderTools({
  builtin,
  mcp,
  host,
}: {
  builtin: readonly Tool[];
  mcp: readonly Tool[];
  host: readonly HostTool[];
}): Tool[] {
  const byName = new Map(host.map((tool) => [tool.name, tool]));
  const clash = builtin.find((tool) => byName.get(tool.name)?.overridesBuiltInTool === false);
  if (clash) {
    throw new AppError(
      "session_invalid",
      `External tool "${clash.name}" conflicts with a built-in tool of the same name. Set overridesBuiltInTool: true to explicitly override it.`,
    );
  }
  const isFree = (tool: Tool) => !byName.has(tool.name);
  const ofServers = new Map(mcp.filter(isFree).map((tool) => [tool.name, tool]));
  return [...builtin.filter(isFree), ...ofServers.values(), ...byName.values()];
}
