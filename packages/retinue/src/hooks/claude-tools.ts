/** How Claude Code calls our tools and their arguments, so that hooks that were written for it can read and change them. */
import { lazy } from "@retinue/protocol";
import * as z from "zod";

interface Naming {
  name: string;
  /** Its names of arguments, by ours. */
  args: Readonly<Record<string, string>>;
}

const FILE = { path: "file_path" };

const NAMES: Readonly<Record<string, Naming>> = {
  bash: { name: "Bash", args: {} },
  view: { name: "Read", args: FILE },
  create: { name: "Write", args: { ...FILE, file_text: "content" } },
  edit: { name: "Edit", args: { ...FILE, old_str: "old_string", new_str: "new_string" } },
  grep: { name: "Grep", args: {} },
  glob: { name: "Glob", args: {} },
  web_fetch: { name: "WebFetch", args: {} },
  ask_user: { name: "AskUserQuestion", args: {} },
  task: { name: "Agent", args: { agent_type: "subagent_type" } },
};

const Call = lazy(() =>
  z.object({
    toolName: z.string().default(""),
    mcpServerName: z.string().optional(),
    mcpToolName: z.string().optional(),
  }),
);

export function claudeNameOf(input: object): string {
  const { toolName, mcpServerName, mcpToolName } = Call().parse(input);
  if (mcpServerName !== undefined && mcpToolName !== undefined) return `mcp__${mcpServerName}__${mcpToolName}`;
  return namingOf(toolName)?.name ?? toolName;
}

export const toClaudeArgs = (toolName: string, args: unknown): unknown =>
  renamed(args, Object.entries(namingOf(toolName)?.args ?? {}));

export const fromClaudeArgs = (toolName: string, args: unknown): unknown =>
  renamed(
    args,
    Object.entries(namingOf(toolName)?.args ?? {}).map(([ours, theirs]) => [theirs, ours]),
  );

function namingOf(toolName: string): Naming | undefined {
  return Object.hasOwn(NAMES, toolName) ? NAMES[toolName] : undefined;
}

function renamed(args: unknown, names: readonly (readonly [string, string])[]): unknown {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return args;
  const other = new Map(names);
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [other.get(name) ?? name, value]));
}
