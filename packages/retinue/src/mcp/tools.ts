/** Tools of MCP servers in the shape of every other tool, named `<server>-<tool>`. */
import { createHash } from "node:crypto";
import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import { AppError, type McpServerConfig, messageOf } from "@retinue/protocol";
import { type CallContext, failure, type Outcome, type Prepared, type Tool } from "../tools/tool.ts";
import { CallFailed, type CallRef } from "./call-failed.ts";
import type { Connection } from "./connection.ts";
import { instructionsFor } from "./instructions.ts";
import { outcomeOf } from "./outcome.ts";
import { callLimitMs, mayOffer, serverIdentity } from "./server-config.ts";

export interface ToolCallbacks {
  /** For `tool.execution_progress`. */
  onProgress?(call: CallRef, message: string): void;
  /** The server lists more tools than are offered. */
  onTooMany?(serverName: string, tools: { listed: number; offered: number }): void;
  /** The `preMcpToolCall` hooks: what goes into the request's `_meta`; null or undefined: nothing. */
  beforeCall?(
    call: McpCall,
    options: { signal: AbortSignal },
  ): Promise<Readonly<Record<string, unknown>> | null | undefined>;
}

export interface McpCall extends CallRef {
  serverName: string;
  /** As the server calls it. */
  toolName: string;
  arguments: unknown;
}

/** No model can choose among more, and most endpoints refuse them. */
const MAX_TOOLS = 200;
const MAX_DESCRIPTION = 16_000;

/** The tools that `config` allows, under names that are not `taken`, to which theirs are added. */
export function toolsOf(
  connection: Connection,
  config: McpServerConfig,
  { callbacks, taken }: { callbacks: ToolCallbacks; taken: Set<string> },
): Tool[] {
  const byName = new Map(connection.tools.map((tool) => [tool.name, tool]));
  const wanted = [...byName.values()].filter((tool) => mayOffer(config, tool.name));
  if (wanted.length > MAX_TOOLS) callbacks.onTooMany?.(connection.name, { listed: wanted.length, offered: MAX_TOOLS });
  const limitMs = callLimitMs(config);
  const isBelieved = config.trustReadOnlyHint === true;
  return wanted
    .slice(0, MAX_TOOLS)
    .map((tool) =>
      asTool(connection, tool, { name: freeName(connection, tool, taken), limitMs, isBelieved, callbacks }),
    );
}

/** `a-b` of `c` and `a` of `b-c` would have one name, and a server can foresee the name that is made instead. */
function freeName({ name: server }: Connection, { name: tool }: ServerTool, taken: Set<string>): string {
  const plain = toolName(server, tool);
  let name = plain;
  for (let meant = `${server}\0${tool}`; taken.has(name); meant += "\0") name = shortened(plain, meant);
  taken.add(name);
  return name;
}

interface Settings {
  name: string;
  limitMs: number;
  /** Whether what the server says about its own tools is taken for true. */
  isBelieved: boolean;
  callbacks: ToolCallbacks;
}

function asTool(connection: Connection, tool: ServerTool, settings: Settings): Tool {
  const { name } = settings;
  const title = tool.title ?? tool.annotations?.title ?? tool.name;
  const readOnly = tool.annotations?.readOnlyHint === true;
  const onlyReads = readOnly && settings.isBelieved;
  return {
    name,
    description: (tool.description ?? title).slice(0, MAX_DESCRIPTION),
    parameters: tool.inputSchema,
    source: "mcp",
    instructions: instructionsFor(connection.name, connection.report.instructions),
    readOnly: onlyReads,
    mcp: { server: connection.name, tool: tool.name, title },
    hasStarted: ({ services: { tasks } }) => tasks?.mcp.known() !== undefined,
    prepare(args, context): Prepared {
      const known = context.services.tasks?.mcp.known();
      if (known) return { run: async () => known }; // It was permitted when it started.
      const input = asObject(args);
      const run = () => call(connection, { tool: tool.name, title, args: input }, { context, settings });
      const { callId: toolCallId } = context;
      const serverName = connection.name;
      return {
        permission: { kind: "mcp", toolCallId, serverName, toolName: name, toolTitle: title, args: input, readOnly },
        needsNoAsk: onlyReads,
        run,
      };
    },
  };
}

async function call(
  connection: Connection,
  { tool, title, args }: { tool: string; title: string; args: Readonly<Record<string, unknown>> },
  { context, settings }: { context: CallContext; settings: Settings },
): Promise<Outcome> {
  const { tasks } = context.services;
  const { callbacks, limitMs } = settings;
  const ref: CallRef = { sessionId: context.sessionId, callId: context.callId };
  const { signal } = context;
  const about = { ...ref, serverName: connection.name, toolName: tool, arguments: args };
  const meta = await callbacks.beforeCall?.(about, { signal });
  try {
    const { result, task } = await connection.call(tool, args, {
      call: ref,
      signal,
      limitMs,
      meta: meta ?? undefined,
      onProgress: (message) => callbacks.onProgress?.(ref, message),
    });
    if (!task) return outcomeOf(connection.name, result);
    if (!tasks)
      return failure(`MCP server '${connection.name}' made a task of the call, and nobody can follow it here.`);
    const { taskId: serverTaskId, status: serverStatus, message: statusMessage, ...more } = task;
    const server = { server: connection.name, serverIdentity: serverIdentity(connection.name, connection.config) };
    return await tasks.mcp.started({
      ...more,
      ...server,
      tool,
      title,
      args,
      serverTaskId,
      serverStatus,
      statusMessage,
    });
  } catch (error) {
    return failed(connection.name, error);
  }
}

function failed(server: string, error: unknown): Outcome {
  if (error instanceof CallFailed) {
    const again = error.kind === "server_ended" ? " It is started again when it is next used." : "";
    return failure(`MCP server '${server}': ${error.message}.${again}`, {
      ...(error.kind === "timeout" && { resultType: "timeout" }),
      telemetry: { properties: { failure_category: error.kind, failure_stage: "invoke" } },
    });
  }
  // The server could not be reached at all; the text names it already.
  if (error instanceof AppError) return failure(messageOf(error));
  throw error;
}

/** Models take letters, digits, `_` and `-`, and at most 64 of them. */
export function toolName(server: string, tool: string): string {
  const whole = `${server}-${tool}`;
  const name = plainName(whole.slice(0, MAX_HASHED));
  if (whole.length <= MAX_NAME) return name;
  // Of a name that nobody can mean, the letters are hashed as they are.
  return shortened(name, `${name}${whole.slice(MAX_HASHED)}`);
}

function shortened(name: string, meant: string): string {
  const hash = createHash("sha256").update(meant).digest("hex").slice(0, 8);
  return `${name.slice(0, MAX_NAME - hash.length - 1)}_${hash}`;
}

const MAX_NAME = 64;
const MAX_HASHED = 4096;

const plainName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, "_");

const asObject = (args: unknown): Record<string, unknown> =>
  typeof args === "object" && args !== null && !Array.isArray(args) ? { ...args } : {};
