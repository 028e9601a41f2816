/**
 * The words of rules: which kinds and tools there are, and how other agent programs write the same rules.
 *
 * A name that is none of these may be a tool of the host or an MCP server, so it is accepted, unless it is one letter away from one of these.
 */
import type { PermissionRule } from "@retinue/protocol";

/** Kinds of permission, each with the built-in tools that mean the same. */
export const KIND_WORDS: readonly string[] =
  "shell bash write create edit read view grep glob url web_fetch mcp custom-tool memory".split(" ");

/** Built-in tools that are no word for a kind. A rule can only name them whole. */
export const TOOL_WORDS: readonly string[] = (
  "read_bash write_bash stop_bash list_bash sql report_intent ask_user task read_agent write_agent list_agents skill task_complete " +
  "exit_plan_mode session_search context_board"
).split(" ");

export const isRuleWord = (kind: string): boolean => KIND_WORDS.includes(kind) || TOOL_WORDS.includes(kind);

/** Names of tools in the rules of other agent programs. */
const FOREIGN: Readonly<Record<string, string>> = {
  Bash: "shell",
  Read: "read",
  Grep: "read",
  Glob: "read",
  LS: "read",
  NotebookRead: "read",
  Edit: "write",
  Write: "write",
  MultiEdit: "write",
  NotebookEdit: "write",
  WebFetch: "url",
  Task: "task",
  Agent: "task",
  BashOutput: "read_bash",
  KillBash: "stop_bash",
  KillShell: "stop_bash",
};

export const FOREIGN_WORDS: readonly string[] = Object.keys(FOREIGN);

/** The same rule in the words of this program. */
export function inOwnWords(rule: PermissionRule): PermissionRule {
  const { kind, argument } = rule;
  const [, server, tool] = /^mcp__(.+?)(?:__(.+))?$/s.exec(kind) ?? [];
  if (server !== undefined && argument === null)
    return tool === undefined || tool === "*" ? { kind: "mcp", argument: server } : { kind: server, argument: tool };
  const own = Object.hasOwn(FOREIGN, kind) ? FOREIGN[kind] : undefined;
  if (own === undefined) return rule;
  return { kind: own, argument: argument === null ? null : ownArgument(own, argument.trim()) };
}

/** Null when everything of the kind is meant. */
function ownArgument(kind: string, argument: string): string | null {
  if (argument === "*" || (argument === "**" && kind !== "shell")) return null;
  if (kind === "shell") return argument.replace(/ \*$/, ":*");
  if (kind === "url") return argument.replace(/^domain:/, "");
  // Two slashes are the root of the file system there, and a folder is written with everything in it.
  return argument.replace(/^\/\//, "/").replace(/(?<=.)\/\*\*$/s, "");
}
