/**
 * The system prompt: sections of Markdown in a fixed order, which a host may append to, replace or change one by one.
 *
 * Owns the sections and the `systemMessage` modes. The words are in prompts/*.md.
 */
import type { SystemMessageConfig } from "@retinue/protocol";
import type { Agent, Toolset } from "./agent.ts";
import codeChange from "./prompts/code-change-rules.md";
import guidelines from "./prompts/guidelines.md";
import identity from "./prompts/identity.md";
import lastInstructions from "./prompts/last-instructions.md";
import safety from "./prompts/safety.md";
import tone from "./prompts/tone.md";
import toolEfficiency from "./prompts/tool-efficiency.md";
import worktree from "./prompts/worktree.md";

export type SectionId =
  | "identity"
  | "tone"
  | "tool_efficiency"
  | "environment_context"
  | "code_change_rules"
  | "guidelines"
  | "safety"
  | "tool_instructions"
  | "custom_instructions"
  | "runtime_instructions"
  | "last_instructions";

/** As it was when the session began, so that the prompt stays the same. */
export interface Environment {
  /** Where the rest was looked at. */
  workingDirectory: string;
  date: string;
  system: string;
  shell?: string;
  branch?: string;
  /** Undefined when it is not known. */
  isClean?: boolean;
}

export interface PromptSurroundings {
  workingDirectory: string;
  sessionFolder: string;
  environment: Environment;
  gitRoot?: string;
  /** The working folder is a worktree of its own. */
  isConfined?: boolean;
  /** The project's instructions for agents (AGENTS.md and the like). */
  customInstructions?: string;
  /** The selected agent's prompt, or the text on delegating to agents. */
  agentInstructions?: string;
  /** What earlier sessions have left for this one. */
  memory?: string;
  mode: "interactive" | "plan" | "autopilot";
}

export type Transform = (sections: Record<string, { content: string }>) => Promise<Record<string, { content: string }>>;

export async function systemPrompt(
  toolset: Toolset,
  surroundings: PromptSurroundings,
  { config, transform }: { config?: SystemMessageConfig; transform?: Transform } = {},
): Promise<string> {
  if (config?.mode === "replace" && config.content !== undefined) return config.content;
  const sections = defaultSections(toolset, surroundings);
  if (config?.mode === "customize") await customize(sections, config, transform);
  const text = [...sections.values()].filter((content) => content.trim() !== "").join("\n\n");
  return config?.content && config.mode !== "replace" ? `${text}\n\n${config.content}` : text;
}

function defaultSections(toolset: Toolset, surroundings: PromptSurroundings): Map<string, string> {
  const all = toolset.tools.flatMap((tool) => (tool.instructions ? [tool.instructions.trim()] : []));
  const instructions = [...new Set(all)]; // Tools of one server share theirs.
  const sections: [SectionId, string][] = [
    ["identity", identity],
    ["tone", tone],
    ["tool_efficiency", toolEfficiency],
    ["environment_context", environment(surroundings)],
    ["code_change_rules", codeChange],
    ["guidelines", guidelines],
    ["safety", safety],
    ["tool_instructions", instructions.length > 0 ? `# Tools\n\n${instructions.join("\n\n")}` : ""],
    ["custom_instructions", surroundings.customInstructions ?? ""],
    [
      "runtime_instructions",
      [surroundings.agentInstructions, surroundings.memory, modeWords(surroundings)].filter(Boolean).join("\n\n"),
    ],
    ["last_instructions", lastInstructions],
  ];
  return new Map(sections.map(([id, content]) => [id, content.trim()]));
}

async function customize(
  sections: Map<string, string>,
  config: Extract<SystemMessageConfig, { mode: "customize" }>,
  transform: Transform | undefined,
): Promise<void> {
  const wanted: Record<string, { content: string }> = {};
  for (const [id, change] of Object.entries(config.sections ?? {})) {
    const content = sections.get(id) ?? "";
    const given = change.content ?? "";
    switch (change.action) {
      case "replace":
        sections.set(id, given);
        break;
      case "remove":
        sections.set(id, "");
        break;
      case "append":
        sections.set(id, [content, given].filter(Boolean).join("\n\n"));
        break;
      case "prepend":
        sections.set(id, [given, content].filter(Boolean).join("\n\n"));
        break;
      case "transform":
        wanted[id] = { content };
        break;
      case "preserve":
        break;
      default:
        change.action satisfies never;
    }
  }
  if (!transform || Object.keys(wanted).length === 0) return;
  for (const [id, { content }] of Object.entries(await transform(wanted))) if (id in wanted) sections.set(id, content);
}

function environment({
  workingDirectory,
  sessionFolder,
  gitRoot,
  isConfined = false,
  environment: { date, system, shell, ...found },
}: PromptSurroundings): string {
  const isHere = found.workingDirectory === workingDirectory; // A sub-agent stays where it was started.
  return [
    "# Environment",
    "",
    `- Working folder: ${workingDirectory}`,
    ...(gitRoot ? [`- Git repository: ${gitRoot}${isHere ? gitWords(found) : ""}`] : []),
    ...(isConfined ? [worktree.trim()] : []),
    `- Session folder, for plans and notes that are not part of the project: ${sessionFolder}`,
    `- System: ${system}${shell ? `; the user's shell is ${shell}` : ""}`,
    `- Date: ${date}, when this session began`,
  ].join("\n");
}

function gitWords({ branch, isClean }: Pick<Environment, "branch" | "isClean">): string {
  const on = branch ? `, on the branch ${branch}` : "";
  if (isClean === undefined) return on;
  return `${on}, ${isClean ? "with nothing changed" : "with changes that are not committed"} when this session began`;
}

function modeWords({ mode, sessionFolder }: PromptSurroundings): string {
  if (mode === "plan") {
    return `# Plan mode\n\nExplore and plan; change nothing outside ${sessionFolder}. Write the plan to ${sessionFolder}/plan.md, then call \`exit_plan_mode\` with a short summary.`;
  }
  if (mode === "autopilot") {
    return "# Autopilot\n\nNobody watches. Work until everything is done and checked, then call `task_complete` with a summary. Decide small questions yourself and name your decisions in the summary.";
  }
  return "";
}

const shownTools = new WeakMap<object, readonly string[]>();

/** The text on tools that were added or removed since the last notice. */
export function toolsChangedNotice({ session }: Agent, { tools }: Toolset): string | undefined {
  const now = tools.map(({ name }) => name);
  const before = shownTools.get(session);
  shownTools.set(session, now);
  if (!before) return undefined;
  const added = now.filter((name) => !before.includes(name));
  const removed = before.filter((name) => !now.includes(name));
  if (added.length === 0 && removed.length === 0) return undefined;
  const lines = [
    ...(added.length > 0 ? [`Now available: ${added.join(", ")}`] : []),
    ...(removed.length > 0 ? [`No longer available: ${removed.join(", ")}`] : []),
  ];
  return `<tools_changed_notice>\n${lines.join("\n")}\n</tools_changed_notice>`;
}
