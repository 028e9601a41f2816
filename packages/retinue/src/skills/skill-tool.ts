/** The `skill` tool: gives the text of a skill to the agent that asks for it. The words for the model are in skill-tool.md. */
import { messageOf } from "@retinue/protocol";
import * as z from "zod";
import { CallRefused, defineTool, failure, success, type Tool } from "../tools/tool.ts";
import type { SkillCatalog } from "./catalog.ts";
import { invoked, type LoadedSkill, type Skill, skillContext } from "./skill.ts";
import words from "./skill-tool.md";

const MAX_LINE_CHARS = 300;
const MAX_LISTED = 100;

/** The list of skills is part of the description, so the tool is made again when the catalog changes. A sub-agent has only its own. */
export function skillTool(skills: SkillCatalog, { only }: { only?: readonly string[] } = {}): Tool {
  const offered = () => skills.offered().filter(({ name }) => only?.includes(name) ?? true);
  return defineTool({
    name: "skill",
    description: `${words.trim()}\n\n${listed(offered())}`,
    input: () => z.object({ skill: z.string().describe("The name of the skill, as it is listed") }),
    readOnly: true,
    prepare: ({ skill: name }) => {
      const skill = load(skills, name, offered());
      return {
        run: async () =>
          success(`Skill "${name}" is loaded. Its instructions follow.`, {
            followUps: [skillContext(skill)],
            events: [{ type: "skill.invoked", data: invoked(skill, "agent-invoked") }],
          }),
      };
    },
  });
}

function load(skills: SkillCatalog, name: string, among: readonly Skill[]): LoadedSkill {
  const offered = among.map((skill) => skill.name);
  if (!offered.includes(name)) {
    const error = `Skill not found: ${name}`;
    throw new CallRefused(failure(`${error}. Skills that can be loaded: ${offered.join(", ") || "none"}.`, { error }));
  }
  try {
    return skills.load(name);
  } catch (error) {
    // The file was removed or damaged since the catalog was read.
    throw new CallRefused(failure(`Skill "${name}" cannot be read: ${messageOf(error)}`));
  }
}

function listed(skills: readonly Skill[]): string {
  if (skills.length === 0) return "There are no skills in this session.";
  const lines = skills.slice(0, MAX_LISTED).map((skill) => {
    const line = `- ${skill.name}: ${skill.description.replaceAll(/\s+/g, " ")}`;
    return line.length <= MAX_LINE_CHARS ? line : `${line.slice(0, MAX_LINE_CHARS - 1)}…`;
  });
  const rest = skills.length - lines.length;
  return ["Skills:", ...lines, ...(rest > 0 ? [`- and ${rest} more`] : [])].join("\n");
}
