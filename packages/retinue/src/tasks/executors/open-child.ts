/**
 * A child session put together: its log, state and inbox, the agent that works in it, and the events that announce it.
 *
 * Owns everything that a sub-agent has in this process, and its closing.
 */
import { Runner } from "../../loop/runner.ts";
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
  /** Its first prompt has gone in. */
  hasBegun: boolean;
  /** It has answered, and its stop hooks were asked then. */
  hasAnswered: boolean;
  /** Ends everything that belongs to it: shells, MCP connections, timers. */
  close(): Promise<void>;
}

export interface ChildDeps {
  parts: TreeParts;
  store: Store;
  /** What sub-agents start others with. */
  tasks: WorkingAgentOptions["tasks"];
  shells: ShellTasks;
}

/** Opens the child session of a record: a new one, or again from its log. */
export async function openChild(record: AgentRecord, parent: WorkingAgent, deps: ChildDeps): Promise<Child> {
  const { parts, tasks } = deps;
  const definition = parts.configuration.agents.get(record.agentType);
  const isKnown = deps.store.session(record.id) !== undefined;
  const session = isKnown ? loadSession(record, parent.session, deps) : createSession(record, parent.session, deps);
  const isNew = session.state.model === undefined; // The model is part of the announcement, and all of that is one commit.
  const shells = deps.shells.ofAgent(session.id);
  const mcp = await parts.servers.use(definition.mcpServers);
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
  if (isNew) announce(session, record, agent);
  else agent.budget.add(usedBefore(session)); // What it used before a restart is used.
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

function createSession(record: AgentRecord, parent: Session, { store }: ChildDeps): Session {
  const now = parent.world.now();
  store.createSession({
    id: record.id,
    rootId: record.rootId,
    parentId: parent.id,
    cwd: parent.place.workingDirectory,
    name: record.name,
    userNamed: false,
    createdAt: now,
    updatedAt: now,
  });
  return sessionOf(record, parent, []);
}

export function loadSession(record: AgentRecord, parent: Session, { store }: Pick<ChildDeps, "store">): Session {
  const session = sessionOf(record, parent, readInbox(store.inbox(record.id)).entries);
  for (const { json } of store.events(record.rootId, { sessionId: record.id })) session.state.apply(JSON.parse(json));
  return session;
}

function sessionOf({ id, callId }: AgentRecord, parent: Session, stored: readonly InboxEntry[]): Session {
  const { log, world, place } = parent.root;
  return new Session({
    id,
    log,
    world,
    place: { ...place },
    parent,
    parentCallId: callId,
    inbox: new Inbox({ sessionId: id, log, stored }),
    state: new SessionState(),
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
  session.log.flush();
}

function usedBefore({ state: { usage } }: Session): { turns: number; tokens: number; toolCalls: number } {
  let turns = 0;
  for (const { requests } of usage.models.values()) turns += requests;
  return { turns, tokens: usage.tokens, toolCalls: usage.toolCalls };
}
