/** The place of an agent in a stored session: its definition, the agents above it, and the limits that apply to it. */
import { resolve } from "node:path";
import { AppError, type PermissionRule } from "@retinue/protocol";
import { AgentCatalog, agentFolders } from "../agents/catalog.ts";
import type { AgentDefinition } from "../agents/definition.ts";
import { ancestorsOfChild, type NodeLimits } from "../agents/effective-tools.ts";
import type { RemoteAgents } from "../agents/remote-definitions.ts";
import type { SessionLimits } from "../host/session-limits.ts";
import { readPluginSet } from "../plugins/plugin-set.ts";
import { ProjectGate } from "../project/gate.ts";
import { FolderTrust } from "../project/trust.ts";
import { replay } from "../recovery/replay.ts";
import type { SessionState } from "../session/state.ts";
import type { SessionRecord, Store } from "../store/store.ts";
import { type AgentRecord, TASK } from "../tasks/record.ts";

export interface NodeContext {
  store: Store;
  record: SessionRecord;
  limits: SessionLimits;
  denied: readonly PermissionRule[];
  home: string;
  remote: RemoteAgents;
  /** Something of the session cannot be read, and the answer is given without it. */
  warn(message: string): void;
}

export interface AgentNode {
  node: NodeLimits;
  title: string;
  /** The MCP servers that agents of the session name. */
  servers: readonly string[];
}

/** `main`, the id (or its beginning) of a sub-agent of the session, or the name of an agent as if the main agent started it. */
export async function nodeOf(agent: string, context: NodeContext): Promise<AgentNode> {
  const { store, record, limits } = context;
  const catalog = await catalogOf(context);
  const servers = catalog.list().flatMap(({ mcpServers }) => Object.keys(mcpServers));
  const { state, problems } = replay(await store.events.read(record.id), record.id);
  const selected = state.selectedAgent === undefined ? undefined : definitionNamed(catalog, state.selectedAgent);
  const main: NodeLimits = {
    sessionFilters: limits,
    defaultAgentExcludedTools: limits.defaultAgent?.excludedTools ?? [],
    isMainAgent: true,
    ancestors: [],
    definition: selected,
    denyRules: context.denied
      .filter(({ argument }) => argument === null)
      .map(({ kind }) => ({ name: kind, pattern: kind })),
    planMode: (isAtWork(state) ? state.modeNow : state.mode) === "plan",
    terms: isAtWork(state) ? state.prompt.terms : undefined,
  };
  if (agent === "main")
    return { node: main, servers, title: selected ? `The main agent, as ${selected.name},` : "The main agent" };
  const { found, problems: unread } = await TASK.list(store.documents, `${record.id}/`);
  for (const problem of [...problems, ...unread.map(({ message }) => message)]) context.warn(problem);
  const tasks = found.map(({ value }) => value).filter((each) => each.kind === "agent");
  const task = tasks.find(({ id }) => id === agent) ?? tasks.find(({ id }) => id.startsWith(agent));
  if (task)
    return {
      node: {
        ...nodeOfTask(task, { tasks, catalog, main }),
        planMode: main.planMode || (await isPlanning(task, { store, prompt: state.prompt })),
      },
      servers,
      title: `The sub-agent ${namesOf(task, tasks).join(" › ")} (${task.agentType})`,
    };
  const definition = catalog.find(agent);
  if (definition) return { node: below(main, definition), servers, title: `The agent ${definition.name}` };
  const started = tasks.map(({ id, name }) => `${id.slice(0, 8)} (${name})`);
  throw new AppError(
    "agent_not_found",
    `There is no agent ${agent}. There are: main, ${[...catalog.names(), ...started].join(", ")}`,
  );
}

/** At rest, what the last prompt said about its own interaction is over. */
const isAtWork = ({ isModelDue, openCalls }: SessionState): boolean => isModelDue || openCalls.size > 0;

/** Its run follows from a message that plans, whatever was said to the main agent since. */
async function isPlanning(
  { id, rootId }: AgentRecord,
  { store, prompt }: Pick<NodeContext, "store"> & Pick<SessionState, "prompt">,
): Promise<boolean> {
  const { state } = replay(await store.events.read(rootId, { sessionId: id }), id);
  return isAtWork(state) && state.planOf !== undefined && prompt.plans.has(state.planOf);
}

/** The names from the main agent's child down to this one. */
function namesOf({ name, ownerId }: AgentRecord, tasks: readonly AgentRecord[]): string[] {
  const owner = tasks.find(({ id }) => id === ownerId);
  return owner ? [...namesOf(owner, tasks), name] : [name];
}

function nodeOfTask(
  task: AgentRecord,
  tree: { tasks: readonly AgentRecord[]; catalog: AgentCatalog; main: NodeLimits },
): NodeLimits {
  const owner = tree.tasks.find(({ id }) => id === task.ownerId);
  return below(owner ? nodeOfTask(owner, tree) : tree.main, definitionNamed(tree.catalog, task.agentType));
}

function below(parent: NodeLimits, definition: AgentDefinition): NodeLimits {
  return { ...parent, isMainAgent: false, ancestors: ancestorsOfChild(parent), definition, terms: undefined };
}

function definitionNamed(catalog: AgentCatalog, name: string): AgentDefinition {
  const definition = catalog.find(name);
  if (definition) return definition;
  throw new AppError(
    "agent_not_found",
    `The agent ${name} of this session is not defined any more, so what it may do cannot be told.`,
  );
}

async function catalogOf({ store, record, limits, home, remote, warn }: NodeContext): Promise<AgentCatalog> {
  const { enableConfigDiscovery = false, pluginDirectories = [], customAgents, excludedBuiltinAgents } = limits;
  const gate = new ProjectGate(record.cwd, new FolderTrust({ documents: store.documents, warn }));
  if (enableConfigDiscovery) await gate.refresh();
  const { agents: plugins } = readPluginSet({
    home,
    directories: pluginDirectories.map((each) => resolve(record.cwd, each)),
    isDiscovering: enableConfigDiscovery,
  });
  const folders = agentFolders({
    home,
    enableConfigDiscovery,
    project: gate.isTrusted ? gate : undefined,
    plugins,
  });
  return new AgentCatalog({ folders, remote, customAgents, excludedBuiltinAgents });
}
