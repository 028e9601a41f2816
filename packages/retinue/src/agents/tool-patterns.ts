/**
 * How an agent's `tools` list, a ceiling and a deny rule name tools.
 *
 * Entries are those of the session filters (a name, `builtin:`, `mcp:` or `custom:` before it, `*` for any characters), and
 * `server/tool`, `server/*` or `server/find*` for tools of an MCP server. Unlike `availableTools`, an agent's list does remove host tools.
 */
import { matchesEntry, matchesName } from "../tools/filters.ts";
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
  return /^(builtin:|mcp:|custom:)?\*+(\/\*+)?$/.test(pattern);
}

function matchesServer(pattern: string, tool: ToolRef): boolean {
  if (tool.mcp === undefined || !pattern.includes("/")) return false;
  return matchesName(`${tool.mcp.server}/${tool.mcp.tool}`, pattern.replace(/^mcp:/, ""));
}
