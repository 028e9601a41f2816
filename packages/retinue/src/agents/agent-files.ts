/**
 * Agents in files: which files of a folder are agents, and what an agent of a project may be called.
 *
 * Files of a project come from somebody else. They are read within bounds, and none of them can pass for an agent that the user knows.
 */
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { messageOf, visible } from "@retinue/protocol";
import { fileStamp } from "../project/file-stamp.ts";
import { isThere } from "../project/root.ts";
import { checkFolder, readWholeTextFile } from "../project/text-file.ts";
import { builtinAgents } from "./builtin.ts";
import { type AgentDefinition, agentFromFile, type KnownNames, normaliseName } from "./definition.ts";
import { hasFrontMatter, mistakesOf } from "./front-matter.ts";

export interface AgentFolder {
  source: "user" | "project" | "plugin";
  /** Or one file, if somebody has named it. */
  path: string;
  /** The real path of the project or plugin that the files must lie in. */
  within?: string;
  /** The name of the plugin. Its agents never take a name that is built in or the user's. */
  plugin?: string;
}

export interface AgentProblems {
  /** Files that could not be used. */
  errors: string[];
  /** What is other than the files say. */
  warnings: string[];
  /** Files of a folder of agents that are none. Nobody has to be told, but whoever looks for one can see it. */
  notes: string[];
}

export const noProblems = (): AgentProblems => ({ errors: [], warnings: [], notes: [] });

const MAX_FILE_BYTES = 256 * 1024;
const MAX_FILES = 100;

export function readAgents(folder: AgentFolder, problems: AgentProblems, known?: KnownNames): AgentDefinition[] {
  const { errors } = problems;
  const agents = agentFiles(folder, problems).flatMap((file) => {
    try {
      const text = readWholeTextFile(file, { maxBytes: MAX_FILE_BYTES, within: folder.within });
      if (text === undefined || !isAgent(file, text, problems)) return [];
      const warn = (message: string) => problems.warnings.push(visible(message));
      const agent = agentFromFile(text, { source: folder.source, path: file, plugin: folder.plugin, warn, known });
      return [folder.source === "user" ? agent : doubted(agent, problems)];
    } catch (error) {
      errors.push(...mistakesOf(error).map(visible));
      return [];
    }
  });
  problems.warnings.push(...namesTwice(agents));
  return agents;
}

/** Between folders that is how one file replaces another; in one folder it is a mistake. */
function namesTwice(agents: readonly AgentDefinition[]): string[] {
  const before = new Map<string, AgentDefinition>();
  return agents.flatMap((agent) => {
    const other = before.get(normaliseName(agent.name));
    before.set(normaliseName(agent.name), agent);
    if (!other) return [];
    return [visible(`${other.path}: ${agent.path} has the same name ${agent.name}, so only that one counts`)];
  });
}

/** A plain Markdown file is an agent when it has a head; other texts lie in such folders too. */
function isAgent(file: string, text: string, { notes, warnings }: AgentProblems): boolean {
  if (file.endsWith(".agent.md") || hasFrontMatter(text)) return true;
  const isReadme = /^(readme|changelog|contributing|license|agents|claude)\.md$/i.test(path.basename(file));
  const words = `${file}:1: it has no front matter (---), so it is not an agent`;
  (isReadme ? notes : warnings).push(visible(words));
  return false;
}

/** Differs after a file of these folders has changed, come or gone. */
export function stampOf(folders: readonly AgentFolder[]): string {
  return fileStamp(folders.flatMap((folder) => agentFiles(folder, noProblems())));
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

/** An agent of somebody else whose name is taken by a built-in agent or one of the user's is called `project:<name>`, or after its plugin. */
export function underOtherNames(agents: readonly AgentDefinition[], problems: AgentProblems): AgentDefinition[] {
  const owners = new Map<string, string>();
  for (const { name } of builtinAgents()) owners.set(looksLike(name), "a built-in agent"); // Also of one that the host has excluded.
  for (const { name, source } of agents) if (source === "user") owners.set(looksLike(name), "an agent of yours");
  return agents.flatMap((agent) => {
    const origin = originOf(agent);
    if (origin === undefined) return [agent];
    const where = visible(agent.path ?? origin);
    if (visible(agent.name) !== agent.name) {
      problems.errors.push(`${where}: the name ${visible(agent.name)} has characters that cannot be seen`);
      return [];
    }
    const owner = owners.get(looksLike(agent.name));
    if (owner === undefined) return [agent];
    const name = `${origin}:${agent.name}`;
    problems.warnings.push(`${where}: ${agent.name} is the name of ${owner}, so this one is called ${name}`);
    return [{ ...agent, name, displayName: agent.displayName === agent.name ? name : agent.displayName }];
  });
}

/** What is put before a name that is taken; undefined for those that may take any name. */
function originOf({ source, plugin }: AgentDefinition): string | undefined {
  if (source === "project" || source === "remote") return source;
  return plugin === undefined ? undefined : visible(plugin);
}

/** The same for names that differ only in the form of their letters. */
function looksLike(name: string): string {
  return normaliseName(name.normalize("NFKC"));
}

function agentFiles({ path: folder, within }: AgentFolder, { errors, notes }: AgentProblems): string[] {
  if (!isThere(folder)) return []; // Usually. Looking is much cheaper than failing.
  try {
    checkFolder(folder, within);
    if (!statSync(folder).isDirectory()) {
      if (folder.endsWith(".md")) return [folder];
      errors.push(visible(`${folder}: it is not an agent, since its name does not end in .md`));
      return [];
    }
    const entries = readdirSync(folder, { withFileTypes: true });
    for (const entry of entries)
      if (entry.isDirectory()) notes.push(visible(`${path.join(folder, entry.name)}: folders in here are not read`));
    const names = entries.filter((entry) => entry.name.endsWith(".md") && !entry.isDirectory()).map(({ name }) => name);
    if (names.length > MAX_FILES)
      errors.push(`${visible(folder)}: only the first ${MAX_FILES} of ${names.length} agents are read`);
    return names
      .sort()
      .slice(0, MAX_FILES)
      .map((name) => path.join(folder, name));
  } catch (error) {
    if (!isMissing(error)) errors.push(visible(`${folder}: ${messageOf(error)}`));
    return [];
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
