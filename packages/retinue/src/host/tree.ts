/**
 * What all agents of one root session share: clients, asks, hooks, rules, models, agents, skills, MCP servers, tasks.
 *
 * Owns the session's configuration and its changes. Every change that can alter a tool list raises `version`.
 */
import { tmpdir } from "node:os";
import type {
  McpServerConfig,
  PermissionRequest,
  SessionConfig,
  SessionContext,
  SubagentSettings,
  TaskProgress,
} from "@retinue/protocol";
import { AgentCatalog, agentFolders } from "../agents/catalog.ts";
import type { ModelSettings } from "../agents/model-policy.ts";
import { Hooks } from "../hooks/hooks.ts";
import type { AgentSettings, Answering } from "../loop/agent.ts";
import { callerOf } from "../loop/calls.ts";
import type { Runner } from "../loop/runner.ts";
import type { Limiter } from "../loop/slot.ts";
import type { McpHost, McpUse } from "../mcp/host.ts";
import type { Catalog, SessionModels } from "../models/catalog.ts";
import { Asks } from "../permissions/asks.ts";
import type { Rules } from "../permissions/rules.ts";
import { answerKeeper } from "../session/inbox.ts";
import type { Session } from "../session/session.ts";
import type { Mode } from "../session/state.ts";
import type { UsageTotals } from "../session/usage.ts";
import { SkillCatalog, skillFolders } from "../skills/catalog.ts";
import { skillTool } from "../skills/skill-tool.ts";
import type { Store } from "../store/store.ts";
import { AgentTasks } from "../tasks/agents.ts";
import type { AgentRecord } from "../tasks/record.ts";
import type { Spawner } from "../tasks/task-service.ts";
import { taskTool } from "../tools/builtin/task.ts";
import { builtinTools } from "../tools/catalog.ts";
import { DEFAULT_MAX_BYTES } from "../tools/output.ts";
import { createShells } from "../tools/shell/shells.ts";
import { SessionDatabase } from "../tools/sql/session-database.ts";
import type { CallServices, ShellService, Tool } from "../tools/tool.ts";
import { createFetchPage } from "../tools/web/web-fetch-guard.ts";
import { Activity } from "./activity.ts";
import { elicit } from "./asking.ts";
import { Children } from "./children.ts";
import { ClientTasks } from "./client-tasks.ts";
import type { RuntimeConfig } from "./config.ts";
import { Participants } from "./participants.ts";
import { ShellLedger } from "./shell-ledger.ts";
import { createSpawner } from "./spawner.ts";
import { Transcript } from "./transcript.ts";
import type { WorkingAgent } from "./working-agent.ts";

export interface TreeOptions {
  root: Session;
  store: Store;
  runtime: RuntimeConfig;
  catalog: Catalog;
  limiter: Limiter;
  rules: Rules;
  config: SessionConfig;
  context: SessionContext;
  customInstructions?: string;
  extraTools?: (agent: WorkingAgent) => readonly Tool[];
  inherit?: (record: AgentRecord) => string | undefined;
}

export class Tree {
  readonly root: Session;
  readonly store: Store;
  readonly runtime: RuntimeConfig;
  readonly limiter: Limiter;
  readonly participants: Participants;
  readonly asks: Asks;
  readonly hooks: Hooks;
  readonly rules: Rules;
  readonly tasks: AgentTasks;
  readonly children: Children;
  readonly clientTasks: ClientTasks;
  readonly database: SessionDatabase;
  readonly spawner: Spawner;
  readonly customInstructions: string | undefined;
  readonly #catalog: Catalog;
  readonly #extraTools: (agent: WorkingAgent) => readonly Tool[];
  readonly #transcript: Transcript;
  readonly #inherit: TreeOptions["inherit"];
  readonly #ledger: ShellLedger;
  context: SessionContext;
  config: SessionConfig;
  agents: AgentCatalog;
  skills: SkillCatalog;
  models: SessionModels;
  settings: AgentSettings;
  version = 0;
  /** What each session of the tree has used, also those that have ended. */
  readonly usage = new Map<string, UsageTotals>();
  readonly activity = new Activity();
  maxDepth: number;
  modelSettings: ModelSettings;
  /** The models that may be asked; undefined means all. */
  allowedModels: readonly string[] | undefined;
  /** When each MCP server that is down failed. */
  readonly mcpFailures = new Map<string, number>();
  #main: WorkingAgent | undefined;
  #runner: Runner | undefined;
  #mcp: { host: McpHost; use: McpUse } | undefined;
  #invokeRules: Pick<SubagentSettings, "agents" | "disabledSubagents"> = {};
  #skillTool: { version: number; tool: Tool } | undefined;
  #taskTool: { version: number; tool: Tool } | undefined;

  constructor(options: TreeOptions) {
    const { root, store, runtime, config } = options;
    this.root = root;
    this.store = store;
    this.runtime = runtime;
    this.limiter = options.limiter;
    this.maxDepth = runtime.maxDepth;
    this.usage.set(root.id, root.state.usage);
    this.#catalog = options.catalog;
    this.modelSettings = options.catalog.subagents?.() ?? {};
    this.config = config;
    this.context = options.context;
    this.customInstructions = options.customInstructions;
    this.#extraTools = options.extraTools ?? (() => []);
    this.#inherit = options.inherit;
    this.#ledger = new ShellLedger(store);
    this.rules = options.rules;
    this.participants = new Participants(root.id, (requestId, answer, kind) =>
      this.asks.answer(requestId, answer, kind),
    );
    this.asks = new Asks(this.participants, answerKeeper(root.log));
    this.hooks = new Hooks({ hosts: () => this.participants.hookHosts(), limitMs: runtime.hookLimitMs });
    this.children = new Children(this);
    this.tasks = new AgentTasks(this.children);
    this.clientTasks = new ClientTasks(this);
    this.spawner = createSpawner(this);
    this.database = new SessionDatabase({ limitMs: runtime.sqlLimitMs });
    this.#transcript = new Transcript(root, store);
    this.agents = this.#readAgents();
    this.skills = this.#readSkills();
    this.models = this.#readModels();
    this.settings = settingsOf(config, runtime);
  }

  get main(): WorkingAgent {
    if (!this.#main) throw new Error("the main agent is not there yet");
    return this.#main;
  }

  get runner(): Runner | undefined {
    return this.#runner;
  }

  useMain(agent: WorkingAgent, runner: Runner): void {
    this.#main = agent;
    this.#runner = runner;
  }

  /** Takes over the configuration of a client that creates, resumes or changes the session. What it does not name stays. */
  configure(config: SessionConfig): void {
    const before = this.config;
    this.config = { ...before, ...defined(config) };
    if (config.customAgents || config.excludedBuiltinAgents || config.pluginDirectories)
      this.agents = this.#readAgents(this.agents.prompts);
    if (config.skillDirectories || config.disabledSkills) this.skills = this.#readSkills();
    if (config.provider || config.providers || config.models || config.modelCapabilities || config.gitHubToken)
      this.models = this.#readModels();
    for (const directory of config.additionalDirectories ?? []) this.rules.addDirectory(directory);
    if (config.mcpServers) this.#replaceServers(config.mcpServers);
    this.settings = settingsOf(this.config, this.runtime);
    this.changed();
  }

  /** Something that tool lists depend on is different now. */
  changed(): void {
    this.version++;
  }

  /** A task of the tree started, went on or ended. */
  tasksChanged(): void {
    this.root.announce("session.background_tasks_changed", {});
    this.#runner?.backgroundChanged();
  }

  usageByAgent(): { id: string; name?: string; displayName?: string; usage: UsageTotals }[] {
    return [...this.usage].map(([id, usage]) => {
      const record = this.tasks.get(id);
      return {
        id: id === this.root.id ? "main" : id,
        name: record?.agentType,
        displayName: record?.displayName,
        usage,
      };
    });
  }

  progress(record: AgentRecord): TaskProgress {
    const usage = this.usage.get(record.id);
    const recentActivity = this.activity.recent(record.id);
    return {
      type: "agent",
      recentActivity,
      ...this.activity.intent(record.id),
      totalToolCalls: usage?.toolCalls ?? 0,
      totalTokens: usage?.tokens ?? 0,
    };
  }

  /** What a new sub-agent is told of the session that started it. */
  inheritBlock(record: AgentRecord): string | undefined {
    return this.#inherit?.(record);
  }

  setMode(mode: Mode): void {
    const previousMode = this.root.state.mode;
    if (mode !== previousMode) this.root.append("session.mode_changed", { previousMode, newMode: mode });
  }

  answering(request: PermissionRequest): Answering {
    if (this.participants.isEmpty && this.runtime.unattended === "wait") return { type: "ask" };
    if (this.participants.can("requestPermission")) return { type: "ask" };
    return {
      type: "deny",
      reason: `Permission for ${request.kind} was needed and nobody is here who can give it. Go on without, or say what you need.`,
    };
  }

  transcriptPath(): Promise<string> {
    return this.#transcript.write();
  }

  /** The log of the root session was cut and its state rebuilt; what was used is counted again from what is left. */
  rewound(usage: ReadonlyMap<string, UsageTotals>): void {
    this.#transcript.restart();
    this.usage.clear();
    this.usage.set(this.root.id, this.root.state.usage);
    for (const [sessionId, totals] of usage) this.usage.set(sessionId, totals);
    this.changed();
  }

  /** Settings for sub-agents: which may run, on which models, how deep. */
  setSubagents({ agents, disabledSubagents, maxDepth }: SubagentSettings): void {
    this.modelSettings = { ...this.modelSettings, agents };
    this.#invokeRules = { agents, disabledSubagents };
    this.agents.setRules(this.#invokeRules);
    this.maxDepth = Math.min(maxDepth ?? this.runtime.maxDepth, this.runtime.maxDepth);
    this.changed();
  }

  readonly fetchPage: NonNullable<CallServices["fetchPage"]> = createFetchPage();

  extraTools(agent: WorkingAgent): readonly Tool[] {
    return this.#extraTools(agent);
  }

  skillTool(): Tool {
    if (this.#skillTool?.version === this.version) return this.#skillTool.tool;
    const tool = skillTool(this.skills);
    this.#skillTool = { version: this.version, tool };
    return tool;
  }

  builtinTools(): readonly Tool[] {
    const { askUserVariant = "legacy", largeOutput } = this.config;
    const canForm = askUserVariant === "elicitation" && this.participants.can("requestElicitation");
    const askUser = canForm ? "elicitation" : this.participants.can("requestUserInput") ? "legacy" : undefined;
    return builtins(
      askUser,
      largeOutput?.enabled === false ? Number.MAX_SAFE_INTEGER : largeOutput?.maxSizeBytes,
      largeOutput?.outputDir,
    );
  }

  taskTool(): Tool {
    if (this.#taskTool?.version === this.version) return this.#taskTool.tool;
    const tool = taskTool(
      this.agents.offered().map(({ name, description, source, readOnly }) => ({
        name,
        description,
        isCustom: source !== "builtin",
        isReadOnly: readOnly,
      })),
    );
    this.#taskTool = { version: this.version, tool };
    return tool;
  }

  /** Shells of one agent; they end with it, also when this process is killed. */
  newShells(sessionId: string): ShellService {
    return this.#ledger.watch(createShells({ sessionId, logFolder: this.settings.outputFolder }));
  }

  hasClientWork(): boolean {
    return this.clientTasks.isRunning;
  }

  /** MCP servers start at the first prompt; the library is loaded only when there are any. */
  async mcpReady(): Promise<void> {
    const servers = this.config.mcpServers ?? {};
    if (!this.#mcp && Object.keys(servers).length === 0) return;
    await (await this.#useMcp()).use.ready();
  }

  mcpTools(): readonly Tool[] {
    return this.#mcp?.use.tools() ?? [];
  }

  /** Whether MCP servers were needed so far, by the session or by one of its agents. */
  get hasMcp(): boolean {
    return this.#mcp !== undefined;
  }

  async mcpHost(): Promise<McpHost> {
    return (await this.#useMcp()).host;
  }

  async useServers(servers: Readonly<Record<string, McpServerConfig>>): Promise<McpUse | undefined> {
    if (Object.keys(servers).length === 0) return undefined;
    return (await this.mcpHost()).use(servers);
  }

  async close(): Promise<void> {
    await Promise.all([this.#mcp?.host.close(), this.database.close()]);
    this.#mcp = undefined;
  }

  async #useMcp(): Promise<{ host: McpHost; use: McpUse }> {
    if (this.#mcp) return this.#mcp;
    const { McpHost } = await import("../mcp/host.ts");
    if (this.#mcp) return this.#mcp;
    const host = new McpHost({
      workingDirectory: this.root.place.workingDirectory,
      clientVersion: this.runtime.version,
      disabledServers: this.config.disabledMcpServers,
      onStatus: (change) => {
        this.changed();
        if (change.status === "failed" || change.status === "needs-auth")
          this.mcpFailures.set(change.serverName, this.root.world.now());
        else this.mcpFailures.delete(change.serverName);
        this.root.announce("session.mcp_server_status_changed", change);
      },
      onToolsChanged: () => this.changed(),
      onProgress: ({ sessionId, callId }, progressMessage) =>
        this.#sessionOf(sessionId).announce("tool.execution_progress", { toolCallId: callId, progressMessage }),
      beforeCall: async ({ sessionId, callId, serverName, toolName, arguments: args }) => {
        if (this.hooks.isEmpty) return undefined;
        const agent = this.children.agent(sessionId) ?? this.main;
        const output = await this.hooks.run(
          "preMcpToolCall",
          { toolCallId: callId, serverName, toolName, arguments: args },
          { caller: callerOf(agent), signal: new AbortController().signal },
        );
        return output?.metaToUse;
      },
      elicit: async ({ server, message, requestedSchema = {}, call }, { signal }) => {
        const agent = this.children.agent(call?.sessionId ?? "") ?? this.main;
        const answer = await elicit(this, agent, {
          message,
          requestedSchema: { ...requestedSchema },
          source: server,
          callId: call?.callId,
          signal,
        });
        return { action: answer.action, ...(answer.content ? { content: formValues(answer.content) } : {}) };
      },
    });
    this.#mcp = { host, use: host.use(this.config.mcpServers ?? {}) };
    return this.#mcp;
  }

  /** New servers first: a connection that both have is kept. */
  #replaceServers(servers: Readonly<Record<string, McpServerConfig>>): void {
    if (!this.#mcp) return;
    const { host, use } = this.#mcp;
    this.#mcp = { host, use: host.use(servers) };
    void use.close();
  }

  #sessionOf(id: string): Session {
    return this.children.agent(id)?.session ?? this.root;
  }

  #readAgents(prompts?: ReadonlyMap<string, string>): AgentCatalog {
    const catalog = new AgentCatalog({
      folders: agentFolders({
        home: this.runtime.home,
        projectRoot: this.root.place.workingDirectory,
        enableConfigDiscovery: this.config.enableConfigDiscovery === true,
        pluginDirectories: this.config.pluginDirectories,
      }),
      customAgents: this.config.customAgents,
      excludedBuiltinAgents: this.config.excludedBuiltinAgents,
      prompts,
    });
    catalog.setRules(this.#invokeRules);
    return catalog;
  }

  #readSkills(): SkillCatalog {
    const { skillDirectories, pluginDirectories, disabledSkills, enableConfigDiscovery = false } = this.config;
    return new SkillCatalog({
      folders: skillFolders({
        skillDirectories,
        pluginDirectories,
        home: this.runtime.home,
        projectRoot: this.root.place.workingDirectory,
        enableConfigDiscovery,
      }),
      disabledSkills,
    });
  }

  #readModels(): SessionModels {
    return this.#catalog.forSession(this.config, {
      askToken: async (providerName) => {
        const [first] = this.participants.all;
        if (!first) throw new Error("no client is attached that could give a token");
        return (await first.client.call("providerToken.getToken", { sessionId: this.root.id, providerName })).token;
      },
    });
  }
}

const builtinSets = new Map<string, readonly Tool[]>();

/** The same tools for every session with the same settings: describing them to a model costs time once. */
function builtins(
  askUser: "legacy" | "elicitation" | undefined,
  maxBytes: number | undefined,
  folder: string | undefined,
): readonly Tool[] {
  const key = JSON.stringify([askUser, maxBytes, folder]);
  const known = builtinSets.get(key);
  if (known) return known;
  const tools = builtinTools({ askUser, output: { maxBytes, folder } });
  builtinSets.set(key, tools);
  return tools;
}

function settingsOf(config: SessionConfig, runtime: RuntimeConfig): AgentSettings {
  const { infiniteSessions, largeOutput } = config;
  return {
    streaming: config.streaming === true,
    includeDeltas: true,
    maxOutputBytes:
      largeOutput?.enabled === false ? Number.MAX_SAFE_INTEGER : (largeOutput?.maxSizeBytes ?? DEFAULT_MAX_BYTES),
    outputFolder: largeOutput?.outputDir ?? runtime.tempFolder ?? tmpdir(),
    compaction: {
      enabled: infiniteSessions?.enabled !== false,
      startAt: infiniteSessions?.backgroundCompactionThreshold ?? 0.8,
      dropAt: infiniteSessions?.bufferExhaustionThreshold ?? 0.95,
    },
    reasoningSummary: config.reasoningSummary,
    maxTurns: 1000,
  };
}

/** What a form can hold; anything else would not be an answer to it. */
function formValues(content: Record<string, unknown>): Record<string, string | number | boolean | string[]> {
  const isValue = (value: unknown) =>
    typeof value === "string" ||
    typeof value === "number" ||
    typeof value === "boolean" ||
    (Array.isArray(value) && value.every((each) => typeof each === "string"));
  return Object.fromEntries(Object.entries(content).filter(([, value]) => isValue(value))) as Record<
    string,
    string | number | boolean | string[]
  >;
}

function defined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Partial<T>;
}
