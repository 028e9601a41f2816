/**
 * Putting a child session together: its log, state and inbox, the agent that works in it, and its start events.
 *
 * Owns everything that a sub-agent holds in this process, and closing it.
 */

import type { EventData } from "@retinue/protocol";
import { Runner } from "../../loop/runner.ts";
import { replay } from "../../recovery/replay.ts";
import { Inbox, type InboxEntry, readInbox } from "../../session/inbox.ts";
import { planNow } from "../../session/mode-now.ts";
import { beginRun } from "../../session/run-boundary.ts";
import { Session } from "../../session/session.ts";
import { SessionState } from "../../session/state.ts";
import type { SessionRecord, Store } from "../../store/store.ts";
import type { TreeParts } from "../../tree/parts.ts";
import { WorkingAgent, type WorkingAgentOptions } from "../../tree/working-agent.ts";
import { type AgentRecord, recordKey, TASK } from "../record.ts";
import type { ShellTasks } from "./shell.ts";

/** A child session at work. */
export interface Child {
  readonly session: Session;
  readonly agent: WorkingAgent;
  readonly runner: Runner;
  /** Its first prompt was delivered. */
  hasBegun: boolean;
  /** It has answered, and its stop hook has run. */
  hasAnswered: boolean;
  /** Ends its shells, and waits until nothing that they started runs any more. */
  endShells(): Promise<void>;
  /** Ends everything that belongs to it: shells, MCP connections, timers. */
  close(): Promise<void>;
}

export interface ChildDeps {
  parts: TreeParts;
  store: Store;
  /** Gives a sub-agent its own agent tools. */
  tasks: WorkingAgentOptions["tasks"];
  shells: ShellTasks;
  /** Whether work of the agent runs in the background. */
  hasBackground(record: AgentRecord): boolean;
  /** Saves a record with the events of this tick. */
  save(record: AgentRecord): void;
}

export interface Opening extends ChildDeps {
  /** The session is in the store already. */
  isKnown: boolean;
  /** Says when nobody waits for it any more. */
  signal: AbortSignal;
}

/** Opens the child session of a record: a new one, or again from its log. */
export async function openChild(record: AgentRecord, parent: WorkingAgent, deps: Opening): Promise<Child> {
  const { parts, tasks, isKnown } = deps;
  const definition = parts.configuration.agents.get(record.agentType);
  const session = isKnown
    ? await loadSession(record, parent.session, deps)
    : sessionOf(record, parent.session, { stored: [], state: new SessionState() });
  const isNew = session.state.model === undefined; // The start events are one commit and set the model.
  const shells = deps.shells.ofAgent(session.id, { isConfined: session.place.confinement !== undefined });
  const mcp = await parts.servers.use(definition);
  const agent: WorkingAgent = new WorkingAgent({
    parts,
    tasks,
    session,
    shells,
    definition,
    parent,
    pathNames: [...parent.pathNames, record.name],
    budget: record.budget,
    onWorked: (elapsedMs) => noteWorked(record, { session, elapsedMs }),
    mcp,
  });
  const runner = new Runner(agent, { hasBackground: () => deps.hasBackground(record) });
  parts.usage.count(session.id, session.state.usage);
  if (isNew)
    announce(record, { session, agent, isKnown, save: deps.save }); // Its first turn waits until this is written.
  else agent.budget.restore(parts.usage.bySubtree(session.id)); // What was used before a restart counts.
  return {
    session,
    agent,
    runner,
    hasBegun: false,
    hasAnswered: false,
    endShells: () => shells.closeAll(),
    close: async () => {
      runner.close();
      await Promise.all([shells.closeAll(), mcp?.close()]);
    },
  };
}

export async function loadSession(
  record: AgentRecord,
  parent: Session,
  { store, signal }: Pick<Opening, "store" | "signal">,
): Promise<Session> {
  await parent.log.recorded({ signal }); // The child is read from the store, so its latest events must be there.
  const { entries, problems } = readInbox(await store.inbox(record.id));
  const events = await store.events.read(record.rootId, { sessionId: record.id });
  const { state, problems: damaged } = replay(events, record.id);
  for (const message of [...problems.map((problem) => problem.message), ...damaged])
    parent.root.announce("session.warning", { warningType: "storage", message });
  return sessionOf(record, parent, { stored: entries, state });
}

function sessionOf(
  { id, callId, place: own }: AgentRecord,
  parent: Session,
  { stored, state }: { stored: readonly InboxEntry[]; state: SessionState },
): Session {
  const { log, world, place } = parent.root;
  return new Session({
    id,
    log,
    world,
    place: { ...place, ...own },
    parent,
    parentCallId: callId,
    inbox: new Inbox({ sessionId: id, log, stored }),
    state,
  });
}

/**
 * The row of the session, the record of the task and the events of its start are one transaction: after a crash there is all of it or
 * nothing, and so never an end without a start.
 */
function announce(
  record: AgentRecord,
  { session, agent, isKnown, save }: Pick<Child, "session" | "agent"> & { isKnown: boolean; save: ChildDeps["save"] },
): void {
  const { definition } = agent.kit;
  const { model, reasoningEffort } = record;
  if (!isKnown) session.log.create(rowOf(record, session));
  if (definition && definition.source !== "builtin") {
    session.append("subagent.selected", {
      agentName: definition.name,
      agentDisplayName: definition.displayName,
      tools: definition.tools ? [...definition.tools] : null,
    });
  }
  recordStart(record, { session, agent });
  session.append("subagent.configured", { model, multiTurn: record.isMultiTurn, reasoningEffort });
  session.append("session.model_change", {
    newModel: model,
    source: "agent",
    reasoningEffort: reasoningEffort ?? null,
    contextTier: null,
  });
  save(record);
}

function rowOf(record: AgentRecord, { parent, world, place }: Session): SessionRecord {
  const now = world.now();
  return {
    id: record.id,
    rootId: record.rootId,
    parentId: parent?.id,
    cwd: place.workingDirectory,
    name: record.name,
    userNamed: false,
    createdAt: now,
    updatedAt: now,
  };
}

/** Each run begins with its start event, and owes an end from then on. The caller saves the record in the same tick. */
export function recordStart(record: AgentRecord, { session, agent }: Pick<Child, "session" | "agent">): void {
  const isNested = session.parent?.parent !== undefined;
  const { model, taskModelSource, modelSelectionSource } = record;
  const { definition } = agent.kit;
  const isCustom = definition !== undefined && definition.source !== "builtin";
  record.owesEnd = true;
  record.runs = (record.runs ?? 0) + 1;
  const data: EventData<"subagent.started"> = {
    toolCallId: record.callId,
    agentName: record.agentType,
    agentDisplayName: record.displayName ?? record.name,
    agentDescription: isCustom ? definition.description : record.description,
    taskDescription: record.description,
    taskName: record.name,
    agentType: record.agentType,
    executionMode: record.mode,
    ...(isNested ? { parentId: record.ownerId } : {}),
    model,
    taskModelSource,
    modelSelectionSource,
    resumable: true,
    remoteSessionId: session.id,
    planOf: planNow(session.parent ?? session.root),
    path: [...session.agentPath],
    pathNames: [...agent.pathNames],
  };
  const append: Session["append"] = (type, about) => session.append(type, about);
  beginRun(data, { append, parentId: record.ownerId, run: record.runs });
}

/** A run that is killed goes on with the time that it had left. What has ended is saved with its record. */
function noteWorked(
  record: AgentRecord,
  { session, elapsedMs }: { session: Session; elapsedMs: number | undefined },
): void {
  if (elapsedMs === undefined) return;
  record.workedMs = elapsedMs;
  session.log.changeDocument(TASK.put(recordKey(record), record));
}
