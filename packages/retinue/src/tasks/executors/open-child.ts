/**
 * Putting a child session together: its log, state and inbox, the agent that works in it, and its start events.
 *
 * Owns everything that a sub-agent holds in this process, and closing it.
 */
import { Runner } from "../../loop/runner.ts";
import { replay } from "../../recovery/replay.ts";
import { Inbox, type InboxEntry, readInbox } from "../../session/inbox.ts";
import { Session } from "../../session/session.ts";
import { SessionState } from "../../session/state.ts";
import type { Store } from "../../store/store.ts";
import type { TreeParts } from "../../tree/parts.ts";
import { WorkingAgent, type WorkingAgentOptions } from "../../tree/working-agent.ts";
import type { AgentRecord } from "../record.ts";
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
  /** Ends everything that belongs to it: shells, MCP connections, timers. */
  close(): Promise<void>;
}

export interface ChildDeps {
  parts: TreeParts;
  store: Store;
  /** Gives a sub-agent its own agent tools. */
  tasks: WorkingAgentOptions["tasks"];
  shells: ShellTasks;
}

export interface Opening extends ChildDeps {
  /** The session is in the store already. */
  isKnown: boolean;
  /** Says when nobody waits for it any more. */
  signal: AbortSignal;
  /** Its start is in the log, whether or not the store has taken it yet. */
  onStarted(): void;
}

/** Opens the child session of a record: a new one, or again from its log. */
export async function openChild(record: AgentRecord, parent: WorkingAgent, deps: Opening): Promise<Child> {
  const { parts, tasks, isKnown } = deps;
  const definition = parts.configuration.agents.get(record.agentType);
  const session = isKnown ? await loadSession(record, parent.session, deps) : createSession(record, parent.session);
  const isNew = session.state.model === undefined; // The start events are one commit and set the model.
  const shells = deps.shells.ofAgent(session.id);
  const mcp = await parts.servers.use(definition);
  const agent = new WorkingAgent({
    parts,
    tasks,
    session,
    shells,
    definition,
    parent,
    pathNames: [...parent.pathNames, record.name],
    budget: record.budget,
    mcp,
  });
  const runner = new Runner(agent);
  parts.usage.count(session.id, session.state.usage);
  if (isNew) {
    announce(session, record, agent); // Its first turn waits until this is written.
    deps.onStarted();
  } else agent.budget.add(usedBefore(session)); // Usage before a restart counts.
  return {
    session,
    agent,
    runner,
    hasBegun: false,
    hasAnswered: false,
    close: async () => {
      runner.close();
      await Promise.all([shells.closeAll(), mcp?.close()]);
    },
  };
}

function createSession(record: AgentRecord, parent: Session): Session {
  const now = parent.world.now();
  parent.log.create({
    id: record.id,
    rootId: record.rootId,
    parentId: parent.id,
    cwd: parent.place.workingDirectory,
    name: record.name,
    userNamed: false,
    createdAt: now,
    updatedAt: now,
  });
  return sessionOf(record, parent, { stored: [], state: new SessionState() });
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
  { id, callId }: AgentRecord,
  parent: Session,
  { stored, state }: { stored: readonly InboxEntry[]; state: SessionState },
): Session {
  const { log, world, place } = parent.root;
  return new Session({
    id,
    log,
    world,
    place: { ...place },
    parent,
    parentCallId: callId,
    inbox: new Inbox({ sessionId: id, log, stored }),
    state,
  });
}

function announce(session: Session, record: AgentRecord, { kit: { definition }, pathNames }: WorkingAgent): void {
  const isNested = session.parent?.parent !== undefined;
  const { model, reasoningEffort, taskModelSource, modelSelectionSource } = record;
  session.append("subagent.started", {
    toolCallId: record.callId,
    agentName: record.agentType,
    agentDisplayName: record.displayName ?? record.name,
    agentDescription: record.description,
    agentType: record.agentType,
    executionMode: record.mode,
    ...(isNested ? { parentId: record.ownerId } : {}),
    model,
    taskModelSource,
    modelSelectionSource,
    resumable: true,
    remoteSessionId: session.id,
    path: [...session.agentPath],
    pathNames: [...pathNames],
  });
  if (definition && definition.source !== "builtin") {
    session.append("subagent.selected", {
      agentName: definition.name,
      agentDisplayName: definition.displayName,
      tools: definition.tools ? [...definition.tools] : null,
    });
  }
  session.append("subagent.configured", { model, multiTurn: record.isMultiTurn, reasoningEffort });
  session.append("session.model_change", {
    newModel: model,
    source: "agent",
    reasoningEffort: reasoningEffort ?? null,
    contextTier: null,
  });
}

function usedBefore({ state: { usage } }: Session): { turns: number; tokens: number; toolCalls: number } {
  let turns = 0;
  for (const { requests } of usage.models.values()) turns += requests;
  return { turns, tokens: usage.tokens, toolCalls: usage.toolCalls };
}
