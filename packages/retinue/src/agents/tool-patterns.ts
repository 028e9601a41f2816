/**
 * How an agent's `tools` list, a ceiling and a deny rule name tools.
 *
 * Entries are those of the session filters (a name, `builtin:`, `mcp:` or `custom:` before it, `*` for any characters), and
 * `server/tool` or `server/*` for tools of an MCP server. Unlike `availableTools`, an agent's list does remove host tools.
 */
import { matchesEntry } from "../tools/filters.ts";
import type { Tool } from "../tools/tool.ts";

/** The fields of a tool by which patterns match it. */
export type ToolRef = Pick<Tool, "name" | "source" | "mcp">;

export function matchesPattern(pattern: string, tool: ToolRef): boolean {
  return matchesEntry(tool, pattern) || matchesServer(pattern, tool);
}

/** null is every tool, as in an agent definition. */
export function matchesAny(patterns: readonly string[] | null, tool: ToolRef): boolean {
  return patterns === null || patterns.some((pattern) => matchesPattern(pattern, tool));
}

/** A pattern that names a single tool, which must therefore exist; a wildcard may match nothing. */
export function namesOneTool(pattern: string): boolean {
  return !pattern.includes("*");
}

/** A pattern for everything, or everything of one origin. It allows what is there, and names none of it. */
export function meansAll(pattern: string): boolean {
  return /^(builtin:|mcp:|custom:)?\*+$/.test(pattern);
}

function matchesServer(pattern: string, tool: ToolRef): boolean {
  const at = pattern.indexOf("/");
  if (at < 0 || tool.mcp === undefined || pattern.slice(0, at) !== tool.mcp.server) return false;
  const name = pattern.slice(at + 1);
  return name === "*" || name === tool.mcp.tool;
}
