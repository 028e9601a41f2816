/**
 * All agents of a session by name: built-in < user < project < plugin < SDK. A later one replaces an earlier one of the
 * same name, except that an agent of a project never takes a name that is built in or the user's (agent-files.ts).
 *
 * Files are read when the catalog opens and at `reload`. A file that cannot be read as an agent is a problem to report,
 * never the end of the session.
 */
import path from "node:path";
import { AppError, type CustomAgentConfig, visible } from "@retinue/protocol";
import { type AgentFolder, type AgentProblems, qualifiedName, readAgents, underOtherNames } from "./agent-files.ts";
import { builtinAgents } from "./builtin.ts";
import { type AgentDefinition, agentFromConfig, normaliseName } from "./definition.ts";

export interface CatalogOptions {
  /** Lowest rank first; see `agentFolders`. */
  folders: readonly AgentFolder[];
  /** From session.create and session.resume. */
  customAgents?: readonly CustomAgentConfig[];
  excludedBuiltinAgents?: readonly string[];
  /** Prompts that replace those of the definitions, by agent. */
  prompts?: ReadonlyMap<string, string>;
}

/** The user's rules about which agents the model may start by itself. They can change while the session runs. */
export interface InvokeRules {
  disabledSubagents?: readonly string[];
  agents?: Readonly<Record<string, { autoInvoke?: boolean }>>;
}

/** Where agent files are looked for. `project` is given only where the host asks for such files and a person trusts the folder. */
export function agentFolders(options: {
  home: string;
  /** The working folder, and the root of its project, which its files must not leave. */
  project?: { folder: string; root: string };
  pluginDirectories?: readonly string[];
}): AgentFolder[] {
  const { project } = options;
  const own = path.resolve(options.home, "agents");
  return [
    { source: "user", path: own },
    ...(project ? projectFolders(project).filter((folder) => folder.path !== own) : []), // In ~ they are the user's.
    ...(options.pluginDirectories ?? []).map(
      (folder): AgentFolder => ({ source: "plugin", path: path.join(folder, "agents") }),
    ),
  ];
}

function projectFolders({ folder, root }: { folder: string; root: string }): AgentFolder[] {
  const folders = [".github/agents", ".retinue/agents"].map((name) => path.resolve(folder, name));
  return folders.map((each) => ({ source: "project", path: each, within: root }));
}

export class AgentCatalog {
  readonly #options: CatalogOptions;
  readonly #sdk: readonly AgentDefinition[];
  #rules: InvokeRules = {};
  readonly #prompts: Map<string, string>;
  #byName = new Map<string, AgentDefinition>();
  #problems: AgentProblems = { errors: [], warnings: [] };
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

  /** Reads the folders again. */
  reload(): void {
    const excluded = new Set((this.#options.excludedBuiltinAgents ?? []).map(normaliseName));
    const problems: AgentProblems = { errors: [], warnings: [] };
    const builtin = builtinAgents().filter((agent) => !excluded.has(normaliseName(agent.name)));
    const read = this.#options.folders.flatMap((folder) => readAgents(folder, problems));
    const fromFiles = underOtherNames(read, problems);
    problems.warnings.push(...sharedNames(this.#sdk));
    this.#byName = new Map();
    for (const agent of [...builtin, ...fromFiles, ...this.#sdk]) {
      const key = normaliseName(agent.name);
      this.#byName.delete(key);
      const prompt = this.#prompts.get(key);
      this.#byName.set(key, prompt === undefined ? agent : { ...agent, prompt });
    }
    this.#problems = problems;
    this.#lists = {};
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

  /** For the task tool: an unknown name is answered with the names that exist. */
  get(name: string): AgentDefinition {
    const agent = this.find(name);
    if (agent) return agent;
    throw new AppError("agent_not_found", `Unknown agent_type: ${name}. Valid types are: ${this.names().join(", ")}`);
  }

  /** For `session.agent.select`, which knows custom agents only. */
  getCustom(name: string): AgentDefinition {
    const agent = this.find(name);
    if (agent && agent.source !== "builtin") return agent;
    const qualified = this.find(qualifiedName(name));
    const names = this.custom().map((each) => each.name);
    const others = names.length > 0 ? `There are: ${names.join(", ")}` : "There is none besides the built-in ones";
    const leftOut = this.#problems.errors.find((problem) => problem.includes(`${path.sep}${name}.agent.md:`));
    const hint = leftOut === undefined ? others : `Its file cannot be used: ${leftOut}`;
    const words = qualified ? `The agent of the project is called '${qualified.name}'` : hint;
    throw new AppError("agent_not_found", `Custom agent '${name}' not found. ${words}`);
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
