/**
 * All agents of a session by name: built-in < remote < user < project < plugin < SDK. A later one replaces an earlier one of the
 * same name, except that one of somebody else never takes a name that is built in or the user's (agent-files.ts).
 *
 * Files are read when the catalog opens and at `reload`. A file that cannot be read as an agent is a problem to report,
 * never the end of the session.
 */
import path from "node:path";
import { AppError, type CustomAgentConfig, visible } from "@retinue/protocol";
import { nearest } from "../nearest.ts";
import { placesOf } from "../project/root.ts";
import {
  type AgentFolder,
  type AgentProblems,
  noProblems,
  readAgents,
  stampOf,
  underOtherNames,
} from "./agent-files.ts";
import { builtinAgents } from "./builtin.ts";
import { type AgentDefinition, agentFromConfig, type KnownNames, normaliseName } from "./definition.ts";
import type { RemoteAgents } from "./remote-definitions.ts";

export interface CatalogOptions {
  /** Lowest rank first; see `agentFolders`. */
  folders: readonly AgentFolder[];
  /** Of the catalog that the user's configuration names. */
  remote?: RemoteAgents;
  /** From session.create and session.resume. */
  customAgents?: readonly CustomAgentConfig[];
  excludedBuiltinAgents?: readonly string[];
  /** For whoever checks files without a session. */
  known?: KnownNames;
  /** Prompts that replace those of the definitions, by agent. */
  prompts?: ReadonlyMap<string, string>;
}

/** The user's rules about which agents the model may start by itself. They can change while the session runs. */
export interface InvokeRules {
  disabledSubagents?: readonly string[];
  agents?: Readonly<Record<string, { autoInvoke?: boolean }>>;
}

/** In each of these there are `agents` and `skills`, lowest rank first. The first two are of other programs. */
export const PLACES = [".claude", ".github", ".retinue"] as const;

/** Where agent files are looked for. `project` is given only where the host asks for such files and a person trusts the folder. */
export function agentFolders(options: {
  home: string;
  /** Also what other programs keep for the user beside the home folder. */
  enableConfigDiscovery?: boolean;
  /** The working folder, and the root of its project, which its files must not leave. */
  project?: { folder: string; root: string };
  /** Of plugins. */
  plugins?: readonly AgentFolder[];
}): AgentFolder[] {
  const { project, home, enableConfigDiscovery = project !== undefined } = options;
  const own = userPlaces(home, { withOthers: enableConfigDiscovery }).map((place) => path.join(place, "agents"));
  const ofProject = (project ? placesOf(project) : []).flatMap((folder) =>
    PLACES.map((place) => path.resolve(folder, place, "agents")),
  );
  return [
    ...own.map((each): AgentFolder => ({ source: "user", path: each })),
    ...ofProject
      .filter((each) => !own.includes(each)) // In ~ they are the user's.
      .map((each): AgentFolder => ({ source: "project", path: each, within: project?.root })),
    ...(options.plugins ?? []),
  ];
}

/** The home folder, and before it what other programs keep beside it. A home that is elsewhere stands alone, for tests and servers. */
export function userPlaces(home: string, { withOthers }: { withOthers: boolean }): string[] {
  const isUsual = /^\.(retinue|copilot)$/.test(path.basename(home));
  const others = withOthers && isUsual ? [".claude", ".github"].map((name) => path.resolve(home, "..", name)) : [];
  return [...others, path.resolve(home)];
}

export class AgentCatalog {
  readonly #options: CatalogOptions;
  readonly #sdk: readonly AgentDefinition[];
  #rules: InvokeRules = {};
  readonly #prompts: Map<string, string>;
  #byName = new Map<string, AgentDefinition>();
  #problems: AgentProblems = noProblems();
  #stamp = "";
  /** Computed on first use, and again after a change. */
  #lists: { all?: readonly AgentDefinition[]; offered?: readonly AgentDefinition[] } = {};

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#sdk = (options.customAgents ?? []).map(agentFromConfig);
    this.#prompts = new Map(options.prompts);
    this.reload();
  }

  /** Files that could not be used, with file and line; and agents that have another name than their file says. */
  get problems(): AgentProblems {
    return this.#problems;
  }

  /** Reads the folders again, or only if one of their files has changed. Returns whether it has read them. */
  reload({ onlyIfChanged = false } = {}): boolean {
    const stamp = stampOf(this.#options.folders);
    if (onlyIfChanged && stamp === this.#stamp) return false;
    const excluded = new Set((this.#options.excludedBuiltinAgents ?? []).map(normaliseName));
    const problems = noProblems();
    this.#stamp = stamp;
    const builtin = builtinAgents().filter((agent) => !excluded.has(normaliseName(agent.name)));
    const read = this.#options.folders.flatMap((folder) => readAgents(folder, problems, this.#options.known));
    const fromFiles = underOtherNames([...(this.#options.remote?.agents ?? []), ...read], problems);
    problems.warnings.push(...(this.#options.remote?.problems ?? []), ...sharedNames(this.#sdk));
    this.#byName = new Map();
    for (const agent of [...builtin, ...fromFiles, ...this.#sdk]) {
      const key = normaliseName(agent.name);
      const before = this.#byName.get(key);
      this.#byName.delete(key);
      const hides = before && { hides: [before, ...(before.hides ?? [])] };
      const prompt = this.#prompts.get(key) ?? agent.prompt;
      this.#byName.set(key, { ...agent, ...hides, prompt });
    }
    this.#problems = problems;
    this.#lists = {};
    return true;
  }

  /** Replaces the prompt of an agent until the session ends. */
  setPrompt(name: string, prompt: string): void {
    const agent = this.find(name);
    if (!agent)
      throw new AppError("agent_not_found", `Custom agent '${name}' not found. There are: ${this.names().join(", ")}`);
    this.#prompts.set(normaliseName(name), prompt);
    this.#byName.set(normaliseName(name), { ...agent, prompt });
    this.#lists = {};
  }

  /** Prompts that were set with `setPrompt`, by agent: for the catalog that replaces this one. */
  get prompts(): ReadonlyMap<string, string> {
    return this.#prompts;
  }

  setRules(rules: InvokeRules): void {
    this.#rules = rules;
    this.#lists = {};
  }

  /** Every agent that can be called. The array is the same one until something changes. */
  list(): readonly AgentDefinition[] {
    this.#lists.all ??= this.#callable();
    return this.#lists.all;
  }

  /** Agents that somebody defined, without the built-in ones. */
  custom(): readonly AgentDefinition[] {
    return this.list().filter((agent) => agent.source !== "builtin");
  }

  /** The agents that the model is offered: custom ones first, because they know the project best. */
  offered(): readonly AgentDefinition[] {
    this.#lists.offered ??= this.#offered();
    return this.#lists.offered;
  }

  find(name: string): AgentDefinition | undefined {
    const wanted = normaliseName(name);
    return this.list().find((agent) => normaliseName(agent.name) === wanted);
  }

  /** For the task tool: an unknown name is answered with the names that the model may know. */
  get(name: string): AgentDefinition {
    const agent = this.find(name);
    if (agent) return agent;
    const names = this.offered().map((each) => each.name);
    throw new AppError("agent_not_found", `Unknown agent_type: ${name}. Valid types are: ${names.join(", ")}`);
  }

  /** For whoever selects the main agent: those that people may choose. A built-in one is not taken for another of its name that was renamed. */
  getSelectable(name: string): AgentDefinition {
    const agent = this.find(name);
    if (agent && (agent.source !== "builtin" || this.#qualified(name) === undefined)) {
      if (agent.userInvocable) return agent;
      const words = `The agent '${agent.name}' cannot be selected: its file says user-invocable: false, so only other agents start it`;
      throw new AppError("invalid_params", `${words}. ${this.#selectable()}`);
    }
    throw new AppError("agent_not_found", `Custom agent '${name}' not found. ${this.#hintFor(name)}`);
  }

  #hintFor(name: string): string {
    const qualified = this.#qualified(name);
    if (qualified) return `The agent of the ${qualified.source} is called '${qualified.name}'`;
    const files = [`${path.sep}${name}.agent.md:`, `${path.sep}${name}.md:`];
    const leftOut = [...this.#problems.errors, ...this.#problems.warnings].find((problem) =>
      files.some((file) => problem.includes(file)),
    );
    if (leftOut !== undefined) return `Its file cannot be used: ${leftOut}`;
    const meant = nearest(
      name,
      this.list().flatMap((each) => (each.userInvocable ? [each.name] : [])),
    );
    return meant === undefined ? this.#selectable() : `Did you mean '${meant}'?`;
  }

  #qualified(name: string): AgentDefinition | undefined {
    const wanted = normaliseName(name);
    return this.custom().find((each) => normaliseName(each.name).endsWith(`:${wanted}`));
  }

  #selectable(): string {
    const names = this.custom().flatMap((each) => (each.userInvocable ? [each.name] : []));
    return names.length > 0
      ? `There are: ${names.join(", ")}, and the built-in ones`
      : "There is none besides the built-in ones";
  }

  names(): readonly string[] {
    return this.list().map((agent) => agent.name);
  }

  #callable(): readonly AgentDefinition[] {
    const disabled = new Set((this.#rules.disabledSubagents ?? []).map(normaliseName));
    return [...this.#byName].filter(([key]) => !disabled.has(key)).map(([, agent]) => agent);
  }

  #offered(): readonly AgentDefinition[] {
    const offered = this.list().filter((agent) => this.#autoInvoke(agent) ?? agent.infer);
    const isCustom = (agent: AgentDefinition): boolean => agent.source !== "builtin";
    return [...offered.filter(isCustom), ...offered.filter((agent) => !isCustom(agent))];
  }

  #autoInvoke(agent: AgentDefinition): boolean | undefined {
    const wanted = normaliseName(agent.name);
    return Object.entries(this.#rules.agents ?? {}).find(([name]) => normaliseName(name) === wanted)?.[1].autoInvoke;
  }
}

/** Of agents of a program that share a name only the last one can be called. */
function sharedNames(agents: readonly AgentDefinition[]): string[] {
  const seen = new Set<string>();
  return agents.flatMap(({ name }) => {
    const isSecond = seen.has(normaliseName(name));
    seen.add(normaliseName(name));
    return isSecond ? [visible(`customAgents: there are two agents called ${name}, and the last one counts`)] : [];
  });
}

/** Agents that the model is not offered, and that a prompt of the user names. */
export function namedIn(prompt: string, agents: AgentCatalog): readonly AgentDefinition[] {
  const offered = agents.offered();
  const kept = agents.custom().filter((agent) => !offered.includes(agent));
  if (kept.length === 0) return [];
  const words = (text: string) => ` ${normaliseName(text).replaceAll("-", " ")} `;
  const said = words(prompt.replaceAll(/[^\p{L}\p{N}:_-]+|:(?=\s|$)/gu, " "));
  return kept.filter(({ name }) => said.includes(words(name)));
}
