/**
 * An agent at work, main agent or sub-agent, put together from what its session tree shares.
 *
 * Owns the tool list of a node, its system prompt and the services of its calls. All limits that a node has come from here, so they
 * are the same on every path.
 */
import type { HookInput, PermissionRequest } from "@retinue/protocol";
import type { AgentDefinition } from "../agents/definition.ts";
import { ancestorsOfChild, effectiveTools, type NodeLimits } from "../agents/effective-tools.ts";
import type { Agent, AgentSettings, Answering, Toolset } from "../loop/agent.ts";
import { toolset } from "../loop/agent.ts";
import { callerOf } from "../loop/calls.ts";
import { systemPrompt } from "../loop/prompt.ts";
import { Slot } from "../loop/slot.ts";
import type { McpUse } from "../mcp/host.ts";
import type { ModelChoice } from "../models/catalog.ts";
import type { Session } from "../session/session.ts";
import type { CallServices, ShellService, TaskService, Tool } from "../tools/tool.ts";
import { askUser, elicit } from "./asking.ts";
import { type Budget, Meter } from "./budget.ts";
import { Derived } from "./derived.ts";
import type { TreeParts } from "./parts.ts";

/** What an agent needs of the tasks of its tree. */
export interface Delegation {
  service(agent: WorkingAgent, call: { callId: string; signal: AbortSignal }): TaskService;
  hasBackground(sessionId: string): boolean;
}

export interface WorkingAgentOptions {
  parts: TreeParts;
  delegation: Delegation;
  session: Session;
  shells: ShellService;
  /** Undefined for the default main agent. */
  definition?: AgentDefinition;
  parent?: WorkingAgent;
  pathNames?: readonly string[];
  budget?: Budget;
  mcp?: McpUse;
}

export class WorkingAgent implements Agent {
  readonly session: Session;
  readonly pathNames: readonly string[];
  readonly slot: Slot;
  readonly meter: Meter;
  readonly parent: WorkingAgent | undefined;
  readonly #options: WorkingAgentOptions;
  readonly #tools = new Derived<Toolset>();

  constructor(options: WorkingAgentOptions) {
    const { parts, session, parent, pathNames = [], budget = {} } = options;
    this.#options = options;
    this.session = session;
    this.parent = parent;
    this.pathNames = pathNames;
    this.slot = new Slot(parent ? parts.limiter : undefined);
    this.meter = new Meter(budget, parent?.meter);
  }

  get #parts(): TreeParts {
    return this.#options.parts;
  }
  get name(): string | undefined {
    return this.#options.definition?.name;
  }
  get hooks() {
    return this.#parts.hooks;
  }
  get rules() {
    return this.#parts.rules;
  }
  get asks() {
    return this.#parts.asks;
  }
  get settings(): AgentSettings {
    return this.#parts.configuration.settings;
  }

  /** The definition in force: a sub-agent's own, or the one that was selected for the main agent. */
  get definition(): AgentDefinition | undefined {
    if (this.#options.definition) return this.#options.definition;
    const selected = this.session.state.selectedAgent;
    return selected === undefined ? undefined : this.#parts.configuration.agents.find(selected);
  }

  get limits(): NodeLimits {
    const { configuration, rules } = this.#parts;
    const { current } = configuration;
    return {
      sessionFilters: current,
      defaultAgentExcludedTools: current.defaultAgent?.excludedTools ?? [],
      isMainAgent: this.parent === undefined,
      ancestors: this.parent ? ancestorsOfChild(this.parent.limits) : [],
      definition: this.definition,
      denyRules: rules.denied
        .filter(({ argument }) => argument === null)
        .map(({ kind }) => ({ name: kind, pattern: kind })),
      planMode: this.session.root.state.mode === "plan",
    };
  }

  model(): ModelChoice {
    return this.#parts.configuration.models.choose(this.session.state.model);
  }

  /** Everything that exists for this node before any filter. */
  async allTools(): Promise<readonly Tool[]> {
    await this.#serversReady();
    return this.#parts.toolbox.all(this.#owner);
  }

  /** Whether a tool list was ever made: before that nothing of this agent has started. */
  get hasTools(): boolean {
    return !this.#tools.isEmpty;
  }

  async tools(): Promise<Toolset> {
    await this.#serversReady();
    const { toolbox } = this.#parts;
    const owner = this.#owner;
    return this.#tools.get(toolbox.key(owner), () => toolset(effectiveTools(toolbox.all(owner), this.limits).allowed));
  }

  async systemPrompt(set: Toolset): Promise<string> {
    const { configuration, participants } = this.#parts;
    const { workingDirectory, folder } = this.session.place;
    const definition = this.definition;
    return await systemPrompt(
      set,
      {
        workingDirectory,
        sessionFolder: folder,
        platform: `${process.platform} ${process.arch}`,
        gitRoot: configuration.context.gitRoot,
        customInstructions: configuration.customInstructions,
        agentInstructions: definition && `# Your role: ${definition.displayName}\n\n${definition.prompt.trim()}`,
        mode: this.session.root.state.mode,
      },
      {
        config: this.parent ? undefined : configuration.current.systemMessage,
        transform: (sections) => participants.transformSections(sections),
      },
    );
  }

  services(callId: string, signal: AbortSignal): CallServices {
    const { delegation, shells } = this.#options;
    return {
      ...this.#parts.services,
      shells,
      ask: (question) => askUser(this, { ...question, callId, signal }),
      elicit: (form) => elicit(this.#parts.participants, this, { ...form, callId, signal }),
      tasks: delegation.service(this, { callId, signal }),
    };
  }

  answering(request: PermissionRequest): Answering {
    return this.#parts.participants.answering(request);
  }

  transcriptPath(): string {
    return this.#parts.transcript.write();
  }

  async mayStop(
    response: string,
    { isAgain, signal }: { isAgain: boolean; signal: AbortSignal },
  ): Promise<string | undefined> {
    if (this.hooks.isEmpty) return undefined;
    const options = { caller: callerOf(this), signal };
    const stopReason = "end_turn";
    const transcriptPath = this.transcriptPath();
    const output = this.parent
      ? await this.hooks.run("subagentStop", { ...this.#stopDetails(response), stopReason, transcriptPath }, options)
      : await this.hooks.run("agentStop", { stopReason, transcriptPath, stop_hook_active: isAgain }, options);
    return output?.decision === "block" && output.reason ? output.reason : undefined;
  }

  #stopDetails(response: string): Pick<HookInput<"subagentStop">, "agentName" | "agentType" | "response"> {
    const name = this.name ?? "";
    return { agentName: name, agentType: name, response };
  }

  /** The main agent's budget is for a run; a sub-agent's is for its life. */
  beginRun(): void {
    if (!this.parent) this.meter.reset();
  }

  async beforeTurn(): Promise<string | undefined> {
    const words = this.meter.check();
    this.meter.add({ turns: 1 });
    return words;
  }

  used(amount: { tokens?: number; toolCalls?: number; cost?: number }): void {
    this.meter.add(amount);
  }

  hasBackgroundWork(): boolean {
    return this.#options.delegation.hasBackground(this.session.id);
  }

  get #owner() {
    return { agent: this, definition: this.#options.definition, mcp: this.#options.mcp };
  }

  async #serversReady(): Promise<void> {
    await this.#options.mcp?.ready();
    await this.#parts.servers.ready();
  }
}
