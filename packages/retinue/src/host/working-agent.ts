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
import { callHost } from "../loop/host-call.ts";
import { systemPrompt } from "../loop/prompt.ts";
import { Slot } from "../loop/slot.ts";
import type { McpUse } from "../mcp/host.ts";
import type { ModelChoice } from "../models/catalog.ts";
import type { Session } from "../session/session.ts";
import { Meter } from "../tasks/budget.ts";
import { taskService } from "../tasks/task-service.ts";
import { listAgentsTool, readAgentTool, writeAgentTool } from "../tools/builtin/task.ts";
import { taskCompleteTool } from "../tools/builtin/task-complete.ts";
import { orderTools } from "../tools/catalog.ts";
import { hostTool } from "../tools/host-tool.ts";
import type { CallServices, ShellService, Tool } from "../tools/tool.ts";
import { askUser, elicit } from "./asking.ts";
import { exitPlanModeTool } from "./mode-tools.ts";
import type { Tree } from "./tree.ts";

export interface WorkingAgentOptions {
  tree: Tree;
  session: Session;
  shells: ShellService;
  /** Undefined for the default main agent. */
  definition?: AgentDefinition;
  parent?: WorkingAgent;
  path?: readonly string[];
  budget?: ConstructorParameters<typeof Meter>[0];
  mcp?: McpUse;
}

export class WorkingAgent implements Agent {
  readonly session: Session;
  readonly path: readonly string[];
  readonly slot: Slot;
  readonly meter: Meter;
  readonly shells: ShellService;
  readonly parent: WorkingAgent | undefined;
  readonly #tree: Tree;
  readonly #definition: AgentDefinition | undefined;
  readonly #mcp: McpUse | undefined;
  #tools: { key: string; set: Toolset } | undefined;

  constructor({ tree, session, shells, definition, parent, path = [], budget = {}, mcp }: WorkingAgentOptions) {
    this.#tree = tree;
    this.session = session;
    this.shells = shells;
    this.#definition = definition;
    this.parent = parent;
    this.path = path;
    this.slot = new Slot(parent ? tree.limiter : undefined);
    this.meter = new Meter(budget, parent?.meter);
    this.#mcp = mcp;
  }

  get name(): string | undefined {
    return this.#definition?.name;
  }
  get hooks() {
    return this.#tree.hooks;
  }
  get rules() {
    return this.#tree.rules;
  }
  get asks() {
    return this.#tree.asks;
  }
  get settings(): AgentSettings {
    return this.#tree.settings;
  }

  /** The definition in force: a sub-agent's own, or the one that was selected for the main agent. */
  get definition(): AgentDefinition | undefined {
    if (this.#definition) return this.#definition;
    const selected = this.session.state.selectedAgent;
    return selected === undefined ? undefined : this.#tree.agents.find(selected);
  }

  get limits(): NodeLimits {
    const { config, rules } = this.#tree;
    return {
      sessionFilters: config,
      defaultAgentExcludedTools: config.defaultAgent?.excludedTools ?? [],
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
    return this.#tree.models.choose(this.session.state.model);
  }

  /** Everything that exists for this node before any filter. */
  async allTools(): Promise<readonly Tool[]> {
    await this.#mcp?.ready();
    await this.#tree.mcpReady();
    return this.#all();
  }

  /** Whether a tool list was ever made: before that nothing of this agent has started. */
  get hasTools(): boolean {
    return this.#tools !== undefined;
  }

  async tools(): Promise<Toolset> {
    await this.#mcp?.ready();
    await this.#tree.mcpReady();
    const key = `${this.#tree.version}|${this.session.root.state.mode}|${this.session.state.selectedAgent ?? ""}`;
    if (this.#tools?.key === key) return this.#tools.set;
    const set = toolset(effectiveTools(this.#all(), this.limits).allowed);
    this.#tools = { key, set };
    return set;
  }

  #all(): readonly Tool[] {
    const tree = this.#tree;
    const { mode } = this.session.root.state;
    const isMain = this.parent === undefined;
    const shared = tree.participants.tools;
    const own = (this.#definition?.toolDefinitions ?? []).filter(
      (spec) => !shared.some(({ name }) => name === spec.name),
    );
    return orderTools({
      builtin: [
        ...tree.builtinTools(),
        tree.skillTool(),
        tree.taskTool(),
        readAgentTool,
        writeAgentTool,
        listAgentsTool,
        ...tree.extraTools(this),
        ...(isMain && mode === "autopilot" ? [taskCompleteTool()] : []),
        ...(isMain && mode === "plan" ? [exitPlanModeTool(tree)] : []),
      ],
      mcp: [...tree.mcpTools(), ...(this.#mcp?.tools() ?? [])],
      host: [...shared, ...own].map((spec) =>
        hostTool(spec, (args, context) => callHost(this, spec.name, args, context)),
      ),
    });
  }

  async systemPrompt(set: Toolset): Promise<string> {
    const tree = this.#tree;
    const { workingDirectory, folder } = this.session.place;
    const definition = this.definition;
    const config = this.parent ? undefined : tree.config.systemMessage;
    return await systemPrompt(
      set,
      {
        workingDirectory,
        sessionFolder: folder,
        platform: `${process.platform} ${process.arch}`,
        gitRoot: tree.context.gitRoot,
        customInstructions: tree.customInstructions,
        agentInstructions: definition && `# Your role: ${definition.displayName}\n\n${definition.prompt.trim()}`,
        mode: this.session.root.state.mode,
      },
      config,
      (sections) => tree.participants.transformSections(sections),
    );
  }

  services(callId: string, signal: AbortSignal): CallServices {
    const tree = this.#tree;
    return {
      shells: this.shells,
      ask: (question) => askUser(tree, this, { ...question, callId, signal }),
      elicit: (form) => elicit(tree, this, { ...form, callId, signal }),
      fetchPage: tree.fetchPage,
      database: tree.database,
      tasks: taskService({ owner: this, callId, tasks: tree.tasks, spawner: tree.spawner, signal }),
    };
  }

  answering(request: PermissionRequest): Answering {
    return this.#tree.answering(request);
  }

  transcriptPath(): Promise<string> {
    return this.#tree.transcriptPath();
  }

  async mayStop(
    response: string,
    { isAgain, signal }: { isAgain: boolean; signal: AbortSignal },
  ): Promise<string | undefined> {
    if (this.hooks.isEmpty) return undefined;
    const options = { caller: callerOf(this), signal };
    const stopReason = "end_turn";
    const transcriptPath = await this.transcriptPath();
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
    const isShellRunning = this.shells
      .list()
      .some((shell) => shell.background && !shell.detached && shell.status === "running");
    return (
      isShellRunning || this.#tree.tasks.hasBackground(this.session.id) || (!this.parent && this.#tree.hasClientWork())
    );
  }
}
