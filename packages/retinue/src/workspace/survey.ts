/**
 * What a project brings that can run or steer a program: for the person who is asked whether to trust it, and for the line that says what
 * was left out.
 *
 * It is found by the same code that would load it. Nothing of it is used by being looked at.
 */
import { relative } from "node:path";
import { type McpServerConfig, visible } from "@retinue/protocol";
import { AgentCatalog, agentFolders } from "../agents/catalog.ts";
import type { AgentDefinition } from "../agents/definition.ts";
import { gateIdentity } from "../agents/gate-identity.ts";
import { hookLine } from "../hooks/file-hook.ts";
import { hookPlaces } from "../hooks/hook-places.ts";
import { readHooks } from "../hooks/hook-reader.ts";
import { readProjectServers } from "../mcp/config-files.ts";
import { isLocal, serverIdentity } from "../mcp/server-config.ts";
import type { ProjectGate } from "../project/gate.ts";
import { brief } from "../project/shown.ts";
import { SkillCatalog, skillFolders } from "../skills/catalog.ts";
import { commandFolders, readCommandFiles } from "../skills/command-file.ts";

export interface ProjectServer {
  identity: string;
  name: string;
  /** The agent that names it, or else the file. */
  agent?: string;
  file?: string;
  /** What would be started or reached, in full. */
  line: string;
}

/** A command that would run at a point of a session. */
export interface ProjectHook {
  identity: string;
  /** Below the working folder. */
  file: string;
  /** When it would run and what, in full. */
  line: string;
}

export interface ProjectContent {
  agents: readonly string[];
  skills: readonly string[];
  /** Slash commands. */
  commands: readonly string[];
  servers: readonly ProjectServer[];
  hooks: readonly ProjectHook[];
  problems: readonly string[];
}

/** Nobody can judge a longer command line, so none is ever allowed. */
const MAX_LINE = 2000;

export function surveyProject({ folder, root }: Pick<ProjectGate, "folder" | "root">, home: string): ProjectContent {
  const project = { folder, root };
  const catalog = new AgentCatalog({ folders: agentFolders({ home, project }) });
  const agents = catalog.list().filter(({ source }) => source === "project");
  const folders = skillFolders({ home, workingDirectory: folder, enableConfigDiscovery: true, project });
  const skills = new SkillCatalog({ folders });
  const files = readProjectServers(project);
  const servers = [
    ...files.servers.map(({ name, config, from }) => ({ ...serverOf(name, config), file: from })),
    ...agents.flatMap((agent) =>
      Object.entries(agent.mcpServers).map(([name, config]) => ({
        ...serverOf(name, config),
        agent: brief(agent.name),
      })),
    ),
  ];
  const long = servers.filter(({ name, line }) => name.length + line.length > MAX_LINE);
  const tooLong = long.map(
    (server) =>
      `The command line of the MCP server ${brief(server.name)} of ${ownerOf(server)} is too long to be shown, so it cannot be allowed`,
  );
  const hooks = hooksOf({ folder, root }, home);
  const unread: string[] = [];
  const commands = commandFolders({ home, enableConfigDiscovery: true, project })
    .filter(({ source }) => source === "project")
    .flatMap(({ path, ...place }) => readCommandFiles(path, { ...place, owner: "the project", problems: unread }));
  const gates = gatesOf(agents);
  const own = skills.list().filter(({ source }) => source === "project");
  return {
    agents: agents.map(({ name }) => brief(name)),
    skills: own.map(({ name }) => brief(name)),
    commands: commands.map(({ name }) => `/${brief(name)}`),
    servers: servers.filter((server) => !long.includes(server)),
    hooks: [...hooks.found, ...gates].filter(({ line }) => line.length <= MAX_LINE),
    problems: [
      ...catalog.problems.errors,
      ...catalog.problems.warnings,
      ...skills.problems.errors,
      ...files.problems,
      ...tooLong,
      ...unread,
      ...hooks.problems,
    ],
  };
}

/** Whether there is something that needs trust. */
export function isEmpty({ agents, skills, commands, servers, hooks }: ProjectContent): boolean {
  return agents.length + skills.length + commands.length + servers.length + hooks.length === 0;
}

/** What consent is given to, by identity. */
export function consentTo({ servers, hooks }: Pick<ProjectContent, "servers" | "hooks">): ReadonlyMap<string, string> {
  return new Map([
    ...servers.map(({ identity, name, line }) => [identity, `MCP server ${visible(name)}: ${line}`] as const),
    ...hooks.map(({ identity, line }) => [identity, `hook ${line}`] as const),
  ]);
}

function hooksOf(
  project: Pick<ProjectGate, "folder" | "root">,
  home: string,
): { found: ProjectHook[]; problems: readonly string[] } {
  const places = hookPlaces({ home, userFolder: undefined, project, plugins: [] });
  const own = places.filter(({ origin }) => origin === "project");
  const { hooks, problems } = readHooks(own, { isTrusted: false, mayStart: () => false });
  const found = hooks.flatMap(({ hook, place, identity, state }) =>
    state === "off" ? [] : [{ identity, file: visible(relative(project.folder, place.file)), line: hookLine(hook) }],
  );
  const long = found.filter(({ line }) => line.length > MAX_LINE);
  const tooLong = long.map(({ file }) => `A hook of ${file} is too long to be shown, so it cannot be allowed`);
  return { found, problems: [...problems, ...tooLong] };
}

/** The commands that agents must pass. They need the same consent as hooks. */
function gatesOf(agents: readonly AgentDefinition[]): ProjectHook[] {
  return agents.flatMap(({ name, gates }) =>
    gates.flatMap((gate) =>
      "command" in gate
        ? [{ identity: gateIdentity(gate), file: `the agent ${brief(name)}`, line: visible(`gate: ${gate.command}`) }]
        : [],
    ),
  );
}

/** As it is written: what variables stand for is the user's. */
function serverOf(name: string, config: McpServerConfig): ProjectServer {
  return { identity: serverIdentity(name, config), name: visible(name), line: serverLine(config) };
}

/** Whose it is, in words. */
export const ownerOf = ({ agent, file = "the project" }: Pick<ProjectServer, "agent" | "file">): string =>
  agent === undefined ? file : `the agent ${agent}`;

/**
 * Values of the environment are shown, since they can decide what a program does. Those of headers are not, since they may be secrets; but
 * which variables of the user are sent to an address has to be seen.
 */
export function serverLine(config: McpServerConfig): string {
  if (!isLocal(config)) {
    const headers = Object.entries(config.headers ?? {}).map(([key, value]) =>
      [key, ...(value.match(/\$\{[^{}]*\}/g) ?? [])].join(" "),
    );
    return visible(`${config.url}${headers.length > 0 ? ` with the headers ${headers.join(", ")}` : ""}`);
  }
  const env = Object.entries(config.env ?? {}).map(([key, value]) => `${key}=${word(value)}`);
  const words = [...env, word(config.command), ...(config.args ?? []).map(word)];
  return visible(`${words.join(" ")}${config.cwd === undefined ? "" : ` in ${config.cwd}`}`);
}

/** Values of variables are often secrets. Only whoever has to allow a server is shown them. */
export function serverLineWithoutValues(config: McpServerConfig): string {
  if (!isLocal(config)) return serverLine(config);
  const names = Object.keys(config.env ?? {});
  return serverLine({ ...config, env: Object.fromEntries(names.map((name) => [name, "..."])) });
}

const word = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : JSON.stringify(text));
