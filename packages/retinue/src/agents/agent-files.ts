/**
 * Agents in files: which files of a folder are agents, and what an agent of a project may be called.
 *
 * Files of a project come from somebody else. They are read within bounds, and none of them can pass for an agent that the user knows.
 */
import { readdirSync } from "node:fs";
import path from "node:path";
import { messageOf, visible } from "@retinue/protocol";
import { checkFolder, readWholeTextFile } from "../project/text-file.ts";
import { builtinAgents } from "./builtin.ts";
import { type AgentDefinition, type AgentSource, agentFromFile, normaliseName } from "./definition.ts";

export interface AgentFolder {
  source: Exclude<AgentSource, "builtin" | "sdk">;
  path: string;
  /** The real path of the project that the files must lie in. */
  within?: string;
}

export interface AgentProblems {
  /** Files that could not be used. */
  errors: string[];
  /** What is other than the files say. */
  warnings: string[];
}

const MAX_FILE_BYTES = 256 * 1024;
const MAX_FILES = 100;

export function readAgents(folder: AgentFolder, problems: AgentProblems): AgentDefinition[] {
  const { errors } = problems;
  return agentFiles(folder, errors).flatMap((file) => {
    try {
      const text = readWholeTextFile(file, { maxBytes: MAX_FILE_BYTES, within: folder.within });
      if (text === undefined) return [];
      const warn = (message: string) => problems.warnings.push(visible(message));
      const agent = agentFromFile(text, { source: folder.source, path: file, warn });
      return [folder.source === "user" ? agent : doubted(agent, problems)];
    } catch (error) {
      errors.push(visible(messageOf(error)));
      return [];
    }
  });
}

/** A file that came with a project or a plugin cannot decide that a server is to be believed. */
function doubted(agent: AgentDefinition, { warnings }: AgentProblems): AgentDefinition {
  const servers = Object.entries(agent.mcpServers);
  if (!servers.some(([, server]) => server.trustReadOnlyHint)) return agent;
  warnings.push(
    `${visible(agent.path ?? "")}: trustReadOnlyHint does not count here, so the tools of its servers are asked for`,
  );
  const mcpServers = servers.map(([name, { trustReadOnlyHint: _, ...server }]) => [name, server]);
  return { ...agent, mcpServers: Object.fromEntries(mcpServers) };
}

/** An agent of the project whose name is taken by a built-in agent or one of the user's is called `project:<name>`. */
export function underOtherNames(agents: readonly AgentDefinition[], problems: AgentProblems): AgentDefinition[] {
  const owners = new Map<string, string>();
  for (const { name } of builtinAgents()) owners.set(looksLike(name), "a built-in agent"); // Also of one that the host has excluded.
  for (const { name, source } of agents) if (source === "user") owners.set(looksLike(name), "an agent of yours");
  return agents.flatMap((agent) => {
    if (agent.source !== "project") return [agent];
    if (visible(agent.name) !== agent.name) {
      problems.errors.push(
        `${visible(agent.path ?? "")}: the name ${visible(agent.name)} has characters that cannot be seen`,
      );
      return [];
    }
    const owner = owners.get(looksLike(agent.name));
    if (owner === undefined) return [agent];
    const name = qualifiedName(agent.name);
    problems.warnings.push(
      `${visible(agent.path ?? "")}: ${agent.name} is the name of ${owner}, so this one is called ${name}`,
    );
    return [{ ...agent, name, displayName: agent.displayName === agent.name ? name : agent.displayName }];
  });
}

export function qualifiedName(name: string): string {
  return `project:${name}`;
}

/** The same for names that differ only in the form of their letters. */
function looksLike(name: string): string {
  return normaliseName(name.normalize("NFKC"));
}

function agentFiles({ path: folder, within }: AgentFolder, errors: string[]): string[] {
  try {
    checkFolder(folder, within);
    const names = readdirSync(folder).filter((name) => name.endsWith(".agent.md"));
    if (names.length > MAX_FILES)
      errors.push(`${visible(folder)}: only the first ${MAX_FILES} of ${names.length} agents are read`);
    return names
      .sort()
      .slice(0, MAX_FILES)
      .map((name) => path.join(folder, name));
  } catch (error) {
    // Usually the folder does not exist.
    if (!isMissing(error)) errors.push(visible(`${folder}: ${messageOf(error)}`));
    return [];
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
