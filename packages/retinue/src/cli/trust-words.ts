/** What a project brings, as lines for a person who decides about it. Command lines are never cut: what is hidden cannot be judged. */
import { ownerOf, type ProjectContent } from "../workspace/survey.ts";

const MAX_NAMES = 50;

export function contentLines({ agents, skills, commands, servers, hooks, problems }: ProjectContent): string[] {
  const lines = [
    ...named("agents", agents),
    ...named("skills", skills),
    ...named("slash commands", commands),
    ...programLines({ servers, hooks }),
    ...problems.slice(0, MAX_NAMES).map((problem) => `  note: ${problem}`),
  ];
  return lines.length > 0 ? lines : ["  nothing that needs trust"];
}

/** What would be started. */
export function programLines({ servers, hooks }: Pick<ProjectContent, "servers" | "hooks">): string[] {
  return [
    ...servers.flatMap((server) => [`  MCP server ${server.name} of ${ownerOf(server)}:`, `    ${server.line}`]),
    ...hooks.flatMap(({ file, line }) => [`  hook of ${file}:`, `    ${line}`]),
  ];
}

function named(what: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length - MAX_NAMES;
  return [`  ${what}: ${names.slice(0, MAX_NAMES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`];
}
