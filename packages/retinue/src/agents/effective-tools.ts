/**
 * Which tools a node of the agent tree may call: session filters ∩ ancestors' ceilings ∩ its own definition.
 *
 * A pure function over plain data, so that the list for the model, the check before a call and `retinue why` cannot disagree.
 * Every answer names the rule that decided.
 */
import type { PromptTerms } from "@retinue/protocol";
import { decideOffer, type ToolFilters } from "../tools/filters.ts";
import { isWithinTerms } from "../tools/prompt-terms.ts";
import type { AgentDefinition } from "./definition.ts";
import { matchesAny, matchesPattern, meansAll, namesOneTool, type ToolRef } from "./tool-patterns.ts";

/** One agent above a node. */
export interface Ancestor {
  name: string;
  ceiling: AgentDefinition["ceiling"];
  tools: AgentDefinition["tools"];
}

/** The place of a node in the tree, with its limits. `ancestors` runs from the root to the parent. */
export interface NodeLimits {
  sessionFilters: ToolFilters;
  /** Hidden from the default agent, and from every agent that does not name the tool. Not a ceiling. */
  defaultAgentExcludedTools: readonly string[];
  isMainAgent: boolean;
  ancestors: readonly Ancestor[];
  /** Absent: the default agent, which has no list of its own. */
  definition?: Pick<AgentDefinition, "name" | "tools" | "ceiling"> &
    Partial<Pick<AgentDefinition, "toolDefinitions" | "mcpServers">>;
  /** Rules of the session that forbid a tool to everybody. */
  denyRules: readonly DenyRule[];
  planMode: boolean;
  /** What the current prompt leaves of the main agent's tools. Not a ceiling: the agents that it starts have their own. */
  terms?: Pick<PromptTerms, "name" | "tools">;
}

export interface DenyRule {
  /** The rule as it was written. */
  name: string;
  pattern: string;
}

export type Rule =
  | "availableTools"
  | "excludedTools"
  | "deny-rule"
  | "plan-mode"
  | "ancestor-ceiling"
  | "agent-tools"
  | "defaultAgent.excludedTools"
  | "prompt"
  | "allowed";

export interface Decision {
  allowed: boolean;
  rule: Rule;
  /** A sentence for a person. */
  reason: string;
}

export interface EffectiveTools<T extends ToolRef> {
  allowed: readonly T[];
  excluded: readonly { tool: T; decision: Decision }[];
}

/** The main agent keeps these when it takes on an agent with a list of its own. */
const KEPT_BY_MAIN_AGENT = ["sql"];

/** What a sub-agent gets only when it names them: what they show and keep is for agents that were made for it. */
const ONLY_BY_NAME = ["context_board"];

/** Of little use without the tool that brings them, and no use to it alone: whoever has the one has the others. */
const COMPANION_OF: Readonly<Record<string, string>> = {
  read_bash: "bash",
  write_bash: "bash",
  stop_bash: "bash",
  list_bash: "bash",
  create: "edit",
};

/** In plan mode the main agent writes its plan with these. A sub-agent has no plan, so it does not get them. */
const FILE_WRITERS = ["create", "edit"];

/** `tools` is everything that exists in the session, before any filter. */
export function effectiveTools<T extends ToolRef>(tools: readonly T[], node: NodeLimits): EffectiveTools<T> {
  const allowed: T[] = [];
  const excluded: { tool: T; decision: Decision }[] = [];
  for (const tool of tools) {
    const decision = decideTool(tool, node);
    if (decision.allowed) allowed.push(tool);
    else excluded.push({ tool, decision });
  }
  return { allowed, excluded };
}

/** The first rule that forbids wins; the order is from the widest rule to the node's own. */
export function decideTool(tool: ToolRef, node: NodeLimits): Decision {
  return underCeilings(tool, node) ?? underOwnRules(tool, node) ?? ALLOWED;
}

/** The `ancestors` of a child of this node. */
export function ancestorsOfChild(node: NodeLimits): readonly Ancestor[] {
  if (node.definition === undefined) return node.ancestors;
  const { name, ceiling, tools } = node.definition;
  return [...node.ancestors, { name, ceiling, tools }];
}

/** What a definition names that does not exist, with the words to say so. Built-in agents may name tools that are switched off here. */
export function unknownTools(
  tools: readonly ToolRef[],
  { name, tools: patterns, source, mcpServers }: Pick<AgentDefinition, "name" | "tools" | "source" | "mcpServers">,
): string | undefined {
  if (source === "builtin") return undefined;
  const ofOwnServer = (pattern: string) =>
    Object.keys(mcpServers).some((server) => pattern.startsWith(`${server}/`) || pattern.startsWith(`${server}-`));
  const unknown = (patterns ?? []).filter(
    (pattern) => namesOneTool(pattern) && !ofOwnServer(pattern) && !tools.some((tool) => matchesPattern(pattern, tool)),
  );
  if (unknown.length === 0) return undefined;
  const valid = [...new Set(tools.map((tool) => tool.name))].sort();
  return `Agent '${name}' names ${unknown.length === 1 ? "a tool that does" : "tools that do"} not exist: ${unknown.join(", ")}. Valid tools are: ${valid.join(", ")}`;
}

const ALLOWED: Decision = { allowed: true, rule: "allowed", reason: "no rule forbids it" };

const forbidden = (rule: Rule, reason: string): Decision => ({ allowed: false, rule, reason });

function underCeilings(tool: ToolRef, node: NodeLimits): Decision | undefined {
  const offer = decideOffer(tool, node.sessionFilters);
  if (!offer.offered && offer.list === "excludedTools") {
    return forbidden("excludedTools", `the session's excludedTools has ${offer.entry}`);
  }
  if (!offer.offered) return forbidden("availableTools", "the session's availableTools does not have it");

  const denied = node.denyRules.find((rule) => matchesPattern(rule.pattern, tool));
  if (denied) return forbidden("deny-rule", `the rule ${denied.name} denies it`);

  if (node.planMode && !node.isMainAgent && tool.source === "builtin" && FILE_WRITERS.includes(tool.name)) {
    return forbidden("plan-mode", "sub-agents write no files in plan mode");
  }

  const above = node.ancestors.find((ancestor) => ancestor.ceiling === "own" && !isListed(ancestor.tools, tool));
  return (
    above && forbidden("ancestor-ceiling", `the ceiling of ${above.name}, which is above this agent, does not have it`)
  );
}

function underOwnRules(tool: ToolRef, node: NodeLimits): Decision | undefined {
  const { definition, terms } = node;
  if (terms && !isWithinTerms(tool.name, terms))
    return forbidden("prompt", `${terms.name}, which runs now, leaves the main agent without it`);
  const isHidden = node.defaultAgentExcludedTools.some((pattern) => matchesPattern(pattern, tool));
  if (definition === undefined) {
    return isHidden
      ? forbidden("defaultAgent.excludedTools", "defaultAgent.excludedTools hides it from the main agent")
      : undefined;
  }
  if (isListed(definition.tools, tool)) {
    if (!node.isMainAgent && tool.source === "builtin" && ONLY_BY_NAME.includes(tool.name) && !names(definition, tool))
      return forbidden(
        "agent-tools",
        `sub-agents have it only by name, and the agent ${definition.name} does not name it`,
      );
    if (!isHidden || names(definition, tool)) return undefined;
    const reason = `defaultAgent.excludedTools hides it, and the agent ${definition.name} does not name it`;
    return forbidden("defaultAgent.excludedTools", reason);
  }
  if (node.isMainAgent && tool.source === "builtin" && KEPT_BY_MAIN_AGENT.includes(tool.name)) return undefined;
  return forbidden("agent-tools", `the tools of the agent ${definition.name} do not have it`);
}

/** In the list of an agent, by name or as the companion of what is. */
export function isListed(patterns: readonly string[] | null, tool: ToolRef): boolean {
  if (matchesAny(patterns, tool)) return true;
  const leader = tool.source === "builtin" ? COMPANION_OF[tool.name] : undefined;
  return leader !== undefined && matchesAny(patterns, { name: leader, source: "builtin" });
}

/** Whether an agent asks for this tool in particular: by its list, or because it brings the tool itself. */
function names({ tools, toolDefinitions, mcpServers }: NonNullable<NodeLimits["definition"]>, tool: ToolRef): boolean {
  if (toolDefinitions?.some(({ name }) => name === tool.name)) return true;
  if (tool.mcp && mcpServers && Object.hasOwn(mcpServers, tool.mcp.server)) return true;
  return tools?.some((pattern) => !meansAll(pattern) && matchesPattern(pattern, tool)) ?? false;
}
