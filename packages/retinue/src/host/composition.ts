/**
 * A session tree, put together: what its agents share, its tasks, and its main agent.
 *
 * The only place that knows all the parts. Each part gets only what it needs; where two need each other, one of them gets a function
 * that looks the other up when it is used.
 */
import type { SessionConfig, SessionContext } from "@retinue/protocol";
import { AskBroker } from "../asks/broker.ts";
import { parseUnattended } from "../asks/unattended.ts";
import type { FileHooks } from "../hooks/file-hooks.ts";
import { Hooks } from "../hooks/hooks.ts";
import type { Agent } from "../loop/agent.ts";
import { DEFAULT_CONTINUES } from "../loop/autopilot.ts";
import { Runner } from "../loop/runner.ts";
import type { Limiter } from "../loop/slot.ts";
import type { Catalog } from "../models/catalog.ts";
import type { Rules } from "../permissions/rules.ts";
import type { SessionPlugins } from "../plugins/session-plugins.ts";
import { ProcessLedger } from "../processes/process-ledger.ts";
import type { ProjectGate } from "../project/gate.ts";
import { answerKeeper } from "../session/inbox.ts";
import { passingEvent } from "../session/passing-event.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../store/store.ts";
import { agentIds } from "../tasks/agent-id.ts";
import type { EngineFor } from "../tasks/engine.ts";
import { ChildSessions } from "../tasks/executors/child-session.ts";
import { ClientWork } from "../tasks/executors/client-work.ts";
import type { InheritBlock } from "../tasks/executors/first-prompt.ts";
import { Fleets } from "../tasks/executors/fleet.ts";
import { McpTasks } from "../tasks/executors/mcp-task.ts";
import { ShellTasks } from "../tasks/executors/shell.ts";
import { Tasks } from "../tasks/registry.ts";
import { type Admit, type SpawnGate, spawnGate } from "../tasks/spawn-gate.ts";
import { taskService } from "../tasks/task-tools.ts";
import { SessionDatabase } from "../tools/sql/session-database.ts";
import type { ShellService, Tool } from "../tools/tool.ts";
import { createFetchPage } from "../tools/web/web-fetch-guard.ts";
import { elicit } from "../tree/asking.ts";
import { Configuration, type ConfigurationOptions, type ProjectInstructions } from "../tree/configuration.ts";
import { Participants } from "../tree/participants.ts";
import type { TreeParts } from "../tree/parts.ts";
import { SamplingRuns } from "../tree/sampling-runs.ts";
import { ServerSignIns } from "../tree/server-sign-ins.ts";
import { TreeServers } from "../tree/servers.ts";
import { Toolbox } from "../tree/toolbox.ts";
import { Transcript } from "../tree/transcript.ts";
import { Usage } from "../tree/usage.ts";
import { WorkingAgent, type WorkingAgentOptions } from "../tree/working-agent.ts";
import { Worktrees } from "../workspace/worktrees/worktrees.ts";
import { concurrencyOf, type RuntimeConfig } from "./config.ts";
import { CONSOLIDATING_AGENT, type Consolidations } from "./consolidation.ts";
import { keepRunTime } from "./run-time.ts";
import { stopLate } from "./time-limit.ts";

export interface TreeOptions {
  root: Session;
  store: Store;
  runtime: RuntimeConfig;
  catalog: Catalog;
  limiter: Limiter;
  rules: Rules;
  config: SessionConfig;
  context: SessionContext;
  gate: ProjectGate;
  fileHooks: FileHooks;
  plugins: SessionPlugins;
  environment: TreeParts["environment"];
  instructions?: ProjectInstructions;
  remoteAgents?: ConfigurationOptions["remoteAgents"];
  /** Tools that other parts of the runtime add. */
  extraTools?: (agent: Agent, parts: TreeParts) => readonly Tool[];
  inherit?: InheritBlock;
  /** What is on the context board, for the system prompt. */
  boardSection?: (root: Session) => TreeParts["board"];
  consolidations?: Consolidations;
  engine?: EngineFor;
}

/** The tasks of a tree, and the ways to start one. */
export interface TreeTasks {
  readonly registry: Tasks;
  readonly gate: SpawnGate;
  readonly agents: ChildSessions;
  readonly fleets: Fleets;
  readonly mcp: McpTasks;
  readonly shells: ShellTasks;
  readonly clientWork: ClientWork;
}

export interface SessionTree {
  readonly parts: TreeParts;
  readonly tasks: TreeTasks;
  readonly main: WorkingAgent;
  readonly runner: Runner;
  /** The main agent's. */
  readonly shells: ShellService;
  /** Closes what the parts hold open. */
  close(): Promise<void>;
}

export function composeTree(options: TreeOptions): SessionTree {
  const { root } = options;
  const ledger = new ProcessLedger(options.store);
  const database = new SessionDatabase({ limitMs: options.runtime.sqlLimitMs });
  const agentOf = (sessionId = root.id): WorkingAgent =>
    tasks.agents.find(sessionId)?.agent ?? tasks.fleets.find(sessionId) ?? main;
  const service: WorkingAgentOptions["tasks"] = (owner, call) =>
    taskService({
      owner,
      ...call,
      tasks: tasks.registry,
      gate: tasks.gate,
      mcp: tasks.mcp.ofCall(owner, call),
      startFleet: async (request) => void (await tasks.fleets.begin({ request })),
    });
  const parts = composeParts(options, { agentOf, database, ledger });
  const tasks = composeTasks(options, { parts, ledger, service, agentOf, main: () => main, runner: () => runner });
  const shells = tasks.shells.ofAgent(root.id);
  const main: WorkingAgent = new WorkingAgent({
    parts,
    tasks: service,
    session: root,
    shells,
    onWorked: (elapsedMs) => keepRunTime(root, elapsedMs),
  });
  const runner: Runner = new Runner(main, {
    hasBackground: () => tasks.registry.records.hasBackground(root.id),
    maxContinues: () =>
      parts.configuration.current.maxAutopilotContinues ??
      options.runtime.maxAutopilotContinues ??
      options.catalog.maxAutopilotContinues?.() ??
      DEFAULT_CONTINUES,
    onLate: () => stopLate(main, { runner, tasks: tasks.registry }),
  });
  return {
    parts,
    tasks,
    main,
    runner,
    shells,
    close: async () => {
      parts.sampling.close();
      await Promise.all([shells.closeAll(), parts.servers.close(), parts.fileHooks.close(), database.close()]);
    },
  };
}

function composeParts(
  options: TreeOptions,
  {
    agentOf,
    database,
    ledger,
  }: Pick<TaskDeps, "ledger" | "agentOf"> & {
    database: SessionDatabase;
  },
): TreeParts {
  const { root, store, runtime, limiter, rules, config, context, environment, catalog, gate, instructions } = options;
  const participants: Participants = new Participants({
    sessionId: root.id,
    unattended: () => parseUnattended(configuration.current.unattended ?? "") ?? runtime.unattended,
    isAllowed: (request) => rules.decide(request).type === "allow",
    envelope: (type, data) => passingEvent(root, type, data).json,
    hooksOnError: runtime.hooksOnError,
    answer: (kind, requestId, answer) => asks.answer(kind, requestId, answer),
  });
  const asks = new AskBroker({
    answerers: participants,
    keeper: answerKeeper(root.log),
    warn: (message) => root.append("session.warning", { warningType: "ask", message }),
  });
  const transcript = new Transcript(root, store);
  const hosts = () => [...options.fileHooks.hosts(), ...participants.hookHosts()];
  const hooks = new Hooks({ hosts, limitMs: runtime.hookLimitMs, transcript });
  const configuration = new Configuration({
    config,
    context,
    catalog,
    instructions,
    remoteAgents: options.remoteAgents,
    home: runtime.home,
    gate,
    plugins: () => options.plugins.current,
    tempFolder: runtime.tempFolder,
    maxDepth: runtime.maxDepth,
    askToken: (providerName) => askToken(participants, { sessionId: root.id, providerName }),
  });
  const { signIns, servers } = composeServers(options, { participants, configuration, hooks, agentOf, ledger });
  const toolbox: Toolbox = new Toolbox({
    configuration,
    participants,
    servers,
    rules,
    extraTools: (agent) => options.extraTools?.(agent, parts) ?? [],
  });
  const parts: TreeParts = {
    root,
    gate,
    configuration,
    environment,
    board: options.boardSection?.(root) ?? (async () => undefined),
    mayNotConsolidate: async () => options.consolidations?.refusal(root, configuration.current),
    participants,
    asks,
    hooks,
    fileHooks: options.fileHooks,
    plugins: options.plugins,
    rules,
    servers,
    signIns,
    sampling: new SamplingRuns({ root, asks, agentOf }),
    toolbox,
    limiter,
    transcript,
    usage: new Usage(root),
    gateCommands: { sessionId: root.id, family: () => ledger.family() },
    services: { fetchPage: createFetchPage(), database },
  };
  return parts;
}

function composeServers(
  { root, gate, runtime, plugins }: TreeOptions,
  shared: Pick<TreeParts, "participants" | "configuration" | "hooks"> &
    Pick<TaskDeps, "ledger"> & { agentOf(sessionId?: string): WorkingAgent },
): Pick<TreeParts, "signIns" | "servers"> {
  const { participants, configuration, hooks, agentOf, ledger } = shared;
  const signIns = new ServerSignIns({
    root,
    home: runtime.home,
    isPersistent: () => configuration.current.mcpOAuthTokenStorage === "persistent",
    isWanted: (eventType) => participants.all.some(({ wants }) => wants(eventType)),
    host: async () => (servers.isUsed ? await servers.host() : undefined),
    onRetry: () => servers.configured(),
  });
  const servers: TreeServers = new TreeServers({
    root,
    gate,
    configuration,
    pluginServers: () => plugins.current.servers,
    runtime,
    processes: ledger,
    signIns,
    hooks,
    agentOf,
    participants,
    elicit: (agent, form) => elicit(participants, agent, form),
  });
  return { signIns, servers };
}

async function askToken(
  participants: Participants,
  asked: { sessionId: string; providerName: string },
): Promise<string> {
  const [first] = participants.all;
  if (!first) throw new Error("no client is attached that could give a token");
  return (await first.client.call("providerToken.getToken", asked)).token;
}

interface TaskDeps {
  parts: TreeParts;
  ledger: ProcessLedger;
  service: WorkingAgentOptions["tasks"];
  agentOf(sessionId?: string): WorkingAgent;
  main(): WorkingAgent;
  runner(): Runner;
}

function composeTasks(options: TreeOptions, deps: TaskDeps): TreeTasks {
  const { parts, ledger, service, agentOf, main, runner } = deps;
  const { store, engine, inherit = async () => undefined } = options;
  const { root, configuration } = parts;
  const onChanged = () => {
    root.announce("session.background_tasks_changed", {});
    runner().backgroundChanged();
  };
  const tasks = () => registry;
  const shells = new ShellTasks({
    rootId: root.id,
    world: root.world,
    ledger,
    logFolder: () => configuration.settings.outputFolder,
    tasks,
  });
  const mcp = new McpTasks({
    parts,
    tasks,
    agentOf,
    onReport: () => root.announce("session.background_tasks_changed", {}),
  });
  const clientWork = new ClientWork({ root, tasks, onReport: onChanged });
  const agents: ChildSessions = new ChildSessions({
    parts,
    store,
    tasks: service,
    shells,
    agentOf,
    inherit,
    isolation: new Worktrees({ home: options.runtime.home, documents: store.documents }),
    pathOf: (record) => registry.records.pathOf(record),
    hasBackground: ({ id }) => registry.records.hasBackground(id),
    save: (record) => registry.records.save(record),
  });
  const isFleet = (id: string) => fleets.find(id) !== undefined;
  const depthOf = ({ session }: WorkingAgent) => session.agentPath.filter((id) => !isFleet(id)).length;
  const admit: Admit = async ({ definition, taskId }) =>
    definition.name === CONSOLIDATING_AGENT
      ? await options.consolidations?.admit(root, { config: configuration.current, taskId })
      : undefined;
  const isTaken = async (id: string) => (await store.sessions.get(id)) !== undefined;
  const newAgentId = agentIds({ newId: root.world.newId, isTaken });
  const gate = spawnGate(configuration, { depthOf, newAgentId, admit });
  const maxConcurrent = concurrencyOf(options.runtime, options.catalog);
  const fleets: Fleets = new Fleets({ parts, tasks, gate, main, runner, service, shells, maxConcurrent });
  const registry: Tasks = new Tasks({
    root,
    executors: { agent: agents, fleet: fleets, "mcp-task": mcp, shell: shells, client: clientWork },
    mailboxOf: (ownerId) => {
      const owner = ownerId === root.id ? { session: root, runner: runner() } : agents.find(ownerId);
      return owner && { session: owner.session, wake: () => owner.runner.wake() };
    },
    onChanged,
    engine,
  });
  return { registry, gate, agents, fleets, mcp, shells, clientWork };
}
