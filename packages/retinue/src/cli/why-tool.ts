/** A tool by its name, as far as a stored session knows it, and the permission that a call of it would need. */
import type { PermissionRequest } from "@retinue/protocol";
import type { ToolRef } from "../agents/tool-patterns.ts";
import type { SessionLimits } from "../host/session-limits.ts";
import { nearest } from "../nearest.ts";
import type { StoredEvent } from "../store/store.ts";
import { eventOf } from "../store/stored-event.ts";
import { shownKeys } from "../tools/builtin/write-bash.ts";
import { builtinTools } from "../tools/catalog.ts";
import { linkTarget, resolvePath } from "../tools/files/file-path.ts";
import { shellPermission, typingPermission } from "../tools/shell/shell-command.ts";
import { UsageError } from "./usage-error.ts";

const LEADING = [
  "task",
  "read_agent",
  "write_agent",
  "list_agents",
  "skill",
  "task_complete",
  "exit_plan_mode",
  "session_search",
  "context_board",
];

export interface ToolSources {
  limits: SessionLimits;
  events: readonly StoredEvent[];
  /** MCP servers that agents name. */
  servers: readonly string[];
}

/** Host tools are those of the session's clients. Tools of MCP servers are known once they were called. */
export function knownTools({ limits: { hostTools = [] }, events }: ToolSources): ToolRef[] {
  const builtin = [...builtinTools({ askUser: "legacy" }).map((tool) => tool.name), ...LEADING];
  const called = events.flatMap((event) => mcpOf(event) ?? []);
  const all: ToolRef[] = [
    ...hostTools.map((name) => ({ name, source: "host" as const })),
    ...builtin.map((name) => ({ name, source: "builtin" as const })),
    ...called,
  ];
  return all.filter((tool, at) => all.findIndex(({ name }) => name === tool.name) === at);
}

/** A tool of an MCP server that was not called yet goes by `server-tool`. Anything else that is not known is an error. */
export function toolNamed(name: string, sources: ToolSources): ToolRef {
  const known = knownTools(sources);
  const found = known.find((tool) => tool.name === name);
  if (found) return found;
  const server = serverIn(name, sources);
  if (server !== undefined) return { name, source: "mcp", mcp: { server, tool: name.slice(server.length + 1) } };
  const names = known.map((tool) => tool.name);
  const meant = nearest(name, names);
  throw new UsageError(
    `the session has no tool ${name}. ${meant ? `Did you mean ${meant}?` : `There are: ${names.join(", ")}`}`,
  );
}

/** The longest name wins, because names may contain dashes. */
function serverIn(name: string, { limits: { mcpServers }, servers }: ToolSources): string | undefined {
  if (mcpServers === undefined) return /^([^-]+)-./.exec(name)?.[1];
  const fitting = [...mcpServers, ...servers].filter((server) => name.startsWith(`${server}-`));
  return fitting.sort((a, b) => b.length - a.length)[0];
}

function mcpOf(event: StoredEvent): ToolRef | undefined {
  const start = eventOf(event, "tool.execution_start");
  const { toolName: name, mcpServerName: server, mcpToolName: tool } = start?.data ?? {};
  return name && server && tool ? { name, source: "mcp", mcp: { server, tool } } : undefined;
}

/** Undefined when calls of the tool need no permission. `input` is the telling argument, or all arguments as JSON. */
export async function requestFor(
  tool: ToolRef,
  input: string | undefined,
  workingDirectory: string,
): Promise<PermissionRequest | undefined> {
  const args = argumentsOf(input);
  const given = (name: string) => (args ? String(args[name] ?? "") : (input ?? ""));
  const at = (path: string) => resolvePath(path, workingDirectory);
  if (tool.source === "host") return { kind: "custom-tool", toolName: tool.name, toolDescription: "", args };
  if (tool.mcp)
    return {
      kind: "mcp",
      serverName: tool.mcp.server,
      toolName: tool.name,
      toolTitle: tool.name,
      args,
      readOnly: false,
    };
  switch (tool.name) {
    case "bash":
      return shellPermission(given("command"), { intention: "", toolCallId: "" });
    case "write_bash":
      return typingPermission(shownKeys(given("input")), { intention: "", toolCallId: "" });
    case "view":
      return reading(at(given("path")));
    case "grep":
    case "glob":
      return searching(searchedPaths(args?.paths ?? args?.path ?? (args ? undefined : input)).map(at));
    case "create":
    case "edit":
      return writing(at(given("path") || "a-file"));
    case "web_fetch":
      return { kind: "url", url: given("url"), intention: "" };
    default:
      return undefined;
  }
}

function reading(path: string): PermissionRequest {
  return { kind: "read", path, resolvedPath: linkTarget(path), intention: "" };
}

function searching(paths: readonly string[]): PermissionRequest {
  const [first = "/", ...others] = paths;
  if (others.length === 0) return reading(first);
  const each = paths.map((path) => ({ path, resolvedPath: linkTarget(path) }));
  return { kind: "read", path: first, paths: each, intention: "" };
}

function searchedPaths(given: unknown): string[] {
  const list = Array.isArray(given) ? given.map(String) : [String(given ?? ".")];
  return list.length === 0 ? ["."] : list;
}

function writing(fileName: string): PermissionRequest {
  const resolvedPath = linkTarget(fileName);
  return { kind: "write", fileName, resolvedPath, diff: "", intention: "", canOfferSessionApproval: true };
}

function argumentsOf(input: string | undefined): Record<string, unknown> | undefined {
  if (!input?.trimStart().startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(input);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined; // Not JSON: a command may begin with a bracket too.
  }
}
