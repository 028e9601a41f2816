/**
 * Which tools a session offers: `availableTools` and `excludedTools`, and which of their entries decided.
 *
 * An entry is a bare name, or a name after `builtin:`, `mcp:` or `custom:`; `*` stands for any characters.
 */
import type { Tool } from "./tool.ts";

export type FilteredTool = Pick<Tool, "name" | "source">;

export interface ToolFilters {
  /** Absent: everything. Never removes a host tool: the host declared it because it wants it. */
  availableTools?: readonly string[];
  excludedTools?: readonly string[];
  /** Which list wins for a tool that is in both. */
  toolFilterPrecedence?: "excluded" | "available";
}

export interface Offer {
  offered: boolean;
  /** The list that decided; absent when no list applies. */
  list?: "availableTools" | "excludedTools";
  /** The entry that decided; absent when the tool is in no entry of the list. */
  entry?: string;
}

export const isOffered = (tool: FilteredTool, filters: ToolFilters): boolean => decideOffer(tool, filters).offered;

export function decideOffer(tool: FilteredTool, filters: ToolFilters): Offer {
  const included = filters.availableTools?.find((entry) => matchesEntry(tool, entry));
  const excluded = filters.excludedTools?.find((entry) => matchesEntry(tool, entry));
  const availableWins = filters.toolFilterPrecedence === "available" && included !== undefined;
  if (excluded !== undefined && !availableWins) return { offered: false, list: "excludedTools", entry: excluded };
  if (included !== undefined) return { offered: true, list: "availableTools", entry: included };
  if (filters.availableTools === undefined || tool.source === "host") return { offered: true };
  return { offered: false, list: "availableTools" };
}

const PREFIX = { builtin: "builtin:", mcp: "mcp:", host: "custom:" } as const;

export function matchesEntry(tool: FilteredTool, entry: string): boolean {
  const prefix = Object.values(PREFIX).find((each) => entry.startsWith(each));
  if (prefix === undefined) return matchesName(tool.name, entry);
  return prefix === PREFIX[tool.source] && matchesName(tool.name, entry.slice(prefix.length));
}

/** `*` stands for any characters. */
export function matchesName(name: string, pattern: string): boolean {
  if (!pattern.includes("*")) return name === pattern;
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop() ?? "";
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let from = first.length;
  for (const piece of rest) {
    const at = name.indexOf(piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return from <= name.length - last.length;
}
