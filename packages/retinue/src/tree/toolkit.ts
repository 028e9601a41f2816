/**
 * What one agent is offered: its tools, the matching system prompt, and the services of its calls.
 *
 * All limits of an agent in the tree are combined here, so they are the same on every path.
 */
import { resolve } from "node:path";
import { absentAgent } from "../agents/absent-agent.ts";
import { namedIn } from "../agents/catalog.ts";
import type { AgentDefinition } from "../agents/definition.ts";
import { ancestorsOfChild, effectiveTools, type NodeLimits } from "../agents/effective-tools.ts";
import { type Agent, type Kit, type KitOptions, type Toolset, toolset } from "../loop/agent.ts";
import { systemPrompt } from "../loop/prompt.ts";
import type { McpUse } from "../mcp/host.ts";
import { originalOf } from "../permissions/confinement.ts";
import { modeNow } from "../session/mode-now.ts";
import { stopOf } from "../session/stop.ts";
import { skillContext } from "../skills/skill.ts";
import type { CallServices, ShellService, TaskService, Tool } from "../tools/tool.ts";
import { askUser, elicit } from "./asking.ts";
import { Derived } from "./derived.ts";
import type { TreeParts } from "./parts.ts";

export interface ToolkitOptions {
  parts: TreeParts;
  shells: ShellService;
  /** Undefined for the default main agent. */
  definition?: AgentDefinition;
  /** The ceiling of the agent above; undefined for the main agent. */
  above?: Toolkit;
  /** The agent's own servers. */
  mcp?: McpUse;
  /** How the agent starts other agents and reads their answers. */
  tasks(call: { callId: string; signal: AbortSignal }): TaskService;
}

/** Whoever may use it is shown what is on it. */
const isBoardTool = ({ name, source }: Tool): boolean => name === "context_board" && source === "builtin";

/** Those that are about one file. */
const FILE_TOOLS: ReadonlySet<string> = new Set(["view", "create", "edit"]);

export class Toolkit implements Kit {
  readonly #agent: Agent;
  readonly #options: ToolkitOptions;
  readonly #tools = new Derived<Toolset>();
  readonly #role = new Derived<string | undefined>();
  /** Instructions that were given, by how many summaries there were. */
  readonly #given = new Set<string>();
  /** The one that is selected, as it was when it was there last. */
  #selected: AgentDefinition | undefined;
  /** Of the definition that the main agent has taken on. */
  #taken: { definition: AgentDefinition; mcp: McpUse | undefined } | undefined;
  #taking: Promise<void> = Promise.resolve();

  constructor(agent: Agent, options: ToolkitOptions) {
    this.#agent = agent;
    this.#options = options;
  }

  /** The current definition: a sub-agent's own, or the one selected for the main agent. */
  get definition(): AgentDefinition | undefined {
    const { definition, parts } = this.#options;
    if (definition) return definition;
    const selected = this.#agent.session.state.selectedAgent;
    if (selected === undefined) return undefined;
    // Without its limits the main agent would be one with every tool.
    if (this.#selected?.name !== selected) this.#selected = absentAgent(selected);
    this.#selected = parts.configuration.agents.find(selected) ?? this.#selected;
    return this.#selected;
  }

  get limits(): NodeLimits {
    const { parts, above } = this.#options;
    const { current } = parts.configuration;
    return {
      sessionFilters: current,
      defaultAgentExcludedTools: current.defaultAgent?.excludedTools ?? [],
      isMainAgent: above === undefined,
      ancestors: above ? ancestorsOfChild(above.limits) : [],
      definition: this.definition,
      denyRules: parts.rules.policy.denied
        .filter(({ argument }) => argument === null)
        .map(({ kind }) => ({ name: kind, pattern: kind })),
      planMode: modeNow(this.#agent.session) === "plan",
      terms: above === undefined ? this.#agent.session.state.prompt.terms : undefined,
    };
  }

  /** Whether a tool list was ever built; before that no server of this agent has started. */
  get isMade(): boolean {
    return !this.#tools.isEmpty;
  }

  /** All tools of this agent before any filter. */
  async all(): Promise<readonly Tool[]> {
    await this.#serversReady();
    return this.#options.parts.toolbox.all(this.#owner);
  }

  async tools({ signal }: KitOptions = {}): Promise<Toolset> {
    await unlessStopped(this.#serversReady(), signal);
    const { toolbox } = this.#options.parts;
    const owner = this.#owner;
    return this.#tools.get(toolbox.key(owner), () => toolset(effectiveTools(toolbox.all(owner), this.limits).allowed));
  }

  async systemPrompt(set: Toolset, { signal }: KitOptions = {}): Promise<string> {
    const { session } = this.#agent;
    const { configuration, environment, participants, board } = this.#options.parts;
    const { workingDirectory, folder } = session.place;
    configuration.instructions.follow(configuration.current); // A prompt may have waited while another one changed them.
    return await systemPrompt(
      set,
      {
        workingDirectory,
        sessionFolder: folder,
        environment: await environment(),
        gitRoot: session.place.confinement?.root ?? configuration.context.gitRoot,
        isConfined: session.place.confinement !== undefined,
        customInstructions: configuration.instructions.text(this.#agent.permissions.rules.unreadable()),
        agentInstructions: this.#roleWords(),
        memory: set.tools.some(isBoardTool) ? await board() : undefined,
        mode: modeNow(session),
      },
      {
        config: session.parent ? undefined : configuration.current.systemMessage,
        transform: (sections) => participants.transformSections(sections, { signal }),
      },
    );
  }

  services(callId: string, signal: AbortSignal): CallServices {
    const { parts, shells, tasks } = this.#options;
    return {
      ...parts.services,
      shells,
      ask: (question) => askUser(this.#agent, { ...question, callId, signal }),
      elicit: (form) => elicit(parts.participants, this.#agent, { ...form, callId, comesAgain: true, signal }),
      tasks: tasks({ callId, signal }),
      gates: (result) => this.#agent.gates.check(result, { signal }),
    };
  }

  /** What the model is told about a prompt of the user: agents that it names and that are not offered otherwise. */
  aboutPrompt(prompt: string): string | undefined {
    if (this.#options.above) return undefined;
    const named = namedIn(prompt, this.#options.parts.configuration.agents);
    if (named.length === 0) return undefined;
    const lines = named.map(({ name, description }) => `- ${name}: ${description}`);
    return `The user names these agents. They can be started with the task tool by these names, although it does not list them:\n${lines.join("\n")}`;
  }

  /** Instructions for the file of a call, unless the conversation has them. */
  aboutCall({ name, args }: { name: string; args: unknown }): readonly string[] {
    if (!FILE_TOOLS.has(name)) return [];
    const file = typeof args === "object" && args !== null && "path" in args ? args.path : undefined;
    if (typeof file !== "string") return [];
    const { session, permissions } = this.#agent;
    const { instructions } = this.#options.parts.configuration;
    const { workingDirectory, confinement } = session.place;
    const path = originalOf(resolve(workingDirectory, file), confinement);
    const found = instructions.forFile(path, permissions.rules.unreadable());
    return [...found.values()].filter((words) => this.#isNew(words));
  }

  /** A summary of the conversation leaves them out, so they are given again after it; and so is a text that has changed. */
  #isNew(words: string): boolean {
    const { state } = this.#agent.session;
    const key = `${state.checkpoints} ${words}`;
    if (this.#given.has(key)) return false;
    this.#given.add(key);
    return !state.messages.some(
      ({ role, ...message }) => role === "user" && JSON.stringify(message).includes(JSON.stringify(words).slice(1, -1)),
    );
  }

  get #owner() {
    const mcp = this.#options.mcp ?? this.#taken?.mcp;
    return { agent: this.#agent, definition: this.definition, mcp };
  }

  /** A sub-agent has its skills in its first prompt; the main agent may take on its role at any time, and leave it. */
  #roleWords(): string | undefined {
    const { definition } = this;
    const { skills } = this.#options.parts.configuration;
    return this.#role.get([definition, skills, skills.offered()], () => {
      if (!definition) return undefined;
      const own = this.#options.above ? [] : skills.preload(definition).map(skillContext);
      return [`# Your role: ${definition.displayName}\n\n${definition.prompt.trim()}`, ...own].join("\n\n");
    });
  }

  async #serversReady(): Promise<void> {
    if (!this.#options.above) await this.takeOnServers();
    await this.#owner.mcp?.ready();
    await this.#options.parts.servers.ready();
  }

  /** Starts the servers of the definition that the main agent has taken on, and leaves those of the one before. */
  async takeOnServers(): Promise<void> {
    this.#taking = this.#taking.catch(() => undefined).then(() => this.#takeOn());
    await this.#taking;
  }

  async #takeOn(): Promise<void> {
    const { definition } = this;
    const before = this.#taken;
    if (before?.definition === definition) return;
    const mcp = definition && (await this.#options.parts.servers.use(definition));
    this.#taken = definition && { definition, mcp };
    void mcp?.ready(); // Never throws.
    await before?.mcp?.close(); // Last, so that a connection that both need is kept.
  }
}

/** Does not wait for the work of servers once the run is stopped. A run that is only parked waits: its prompt is recorded first. */
async function unlessStopped(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return await work;
  let onAbort = () => {};
  const stopped = new Promise<never>((_, reject) => {
    onAbort = () => {
      const stop = stopOf(signal);
      if (stop && !stop.isParked) reject(stop);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    onAbort();
  });
  try {
    await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
