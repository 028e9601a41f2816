/**
 * Child sessions of one tree: how each is put together, found again after a restart, and closed with all it has.
 *
 * The registry of their tasks is tasks/agents.ts; this is the host side of it.
 */
import { callerOf, settleInterrupted } from "../loop/calls.ts";
import { Runner } from "../loop/runner.ts";
import { replay } from "../recovery/replay.ts";
import { Inbox, type InboxEntry, readInbox } from "../session/inbox.ts";
import { Session } from "../session/session.ts";
import { SessionState } from "../session/state.ts";
import { skillContext } from "../skills/skill.ts";
import type { AgentHost, Child } from "../tasks/agents.ts";
import type { AgentRecord } from "../tasks/record.ts";
import { isNews, shellNotice } from "./shell-notice.ts";
import type { Tree } from "./tree.ts";
import { warnUnreadable } from "./unreadable.ts";
import { WorkingAgent } from "./working-agent.ts";

const LAST_WORD_MS = 2000;

export class Children implements AgentHost {
  readonly #tree: Tree;
  readonly #open = new Map<string, { agent: WorkingAgent; runner: Runner }>();
  /** By child session: what it left open is given an end once, whoever asks for it. */
  readonly #settling = new Map<string, Promise<void>>();

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  get root(): Session {
    return this.#tree.root;
  }

  agent(sessionId: string): WorkingAgent | undefined {
    return this.#open.get(sessionId)?.agent;
  }

  get agents(): readonly WorkingAgent[] {
    return [...this.#open.values()].map(({ agent }) => agent);
  }

  get runners(): readonly Runner[] {
    return [...this.#open.values()].map(({ runner }) => runner);
  }

  ownerRunner(ownerId: string): Runner | undefined {
    return ownerId === this.root.id ? this.#tree.runner : this.#open.get(ownerId)?.runner;
  }

  ownerSession(ownerId: string): Session | undefined {
    return ownerId === this.root.id ? this.root : this.#open.get(ownerId)?.agent.session;
  }

  changed(): void {
    this.#tree.tasksChanged();
  }

  /** Gives an end to what a child session that nobody continues left open. */
  async settleLost(record: AgentRecord): Promise<void> {
    const settling = this.#settling.get(record.id) ?? this.#settle(record);
    this.#settling.set(record.id, settling);
    await settling.finally(() => this.#settling.delete(record.id));
  }

  async #settle(record: AgentRecord): Promise<void> {
    this.#tree.asks.forget(record.id);
    if (await this.#tree.store.sessions.get(record.id)) settleInterrupted(await this.#load(record, this.root));
  }

  async openChild(record: AgentRecord): Promise<Child> {
    const tree = this.#tree;
    const parent = this.agent(record.ownerId) ?? tree.main;
    const definition = tree.agents.get(record.agentType);
    const isKnown = (await tree.store.sessions.get(record.id)) !== undefined;
    const session = isKnown ? await this.#load(record, parent.session) : this.#create(record, parent.session);
    const isNew = session.state.model === undefined; // The model is part of the announcement, and all of that is one commit.
    const shells = tree.newShells(session.id);
    const mcp = await tree.useServers(definition.mcpServers);
    const agent = new WorkingAgent({
      tree,
      session,
      shells,
      definition,
      parent,
      path: record.path,
      budget: record.budget,
      mcp,
    });
    const runner = new Runner(agent);
    shells.onEnded((shell, { awaited }) => {
      // An agent that has answered is not woken for its own shells: what it had to say is said.
      if (!isNews(shell, awaited) || tree.tasks.get(session.id)?.status !== "running") return;
      session.inbox.add(shellNotice(shell, session.world));
      runner.wake();
    });
    this.#open.set(session.id, { agent, runner });
    tree.usage.set(session.id, session.state.usage);
    if (isNew) await this.#announce(session, record, agent);
    else agent.meter.add(usedBefore(session)); // What it used before a restart is used.
    return {
      session,
      agent,
      runner,
      used: () => ({ toolCalls: session.state.usage.toolCalls, tokens: session.state.usage.tokens }),
      isOverBudget: () => agent.meter.isSpent,
      close: async () => {
        runner.close();
        this.#open.delete(session.id);
        await Promise.all([shells.closeAll(), mcp?.close()]);
      },
    };
  }

  async tellStop({ agent, session }: Child, stopReason: "error" | "cancelled"): Promise<void> {
    const { hooks } = this.#tree;
    if (hooks.isEmpty) return;
    const agentName = agent.name ?? "";
    const response = session.state.lastAssistantText;
    const details = {
      agentName,
      agentType: agentName,
      response,
      stopReason,
      transcriptPath: await agent.transcriptPath(),
    };
    const signal = new AbortController().signal; // The agent's own has been used up; a hook that hangs is cut short instead.
    await hooks.run("subagentStop", details, { caller: callerOf(agent), signal, limitMs: LAST_WORD_MS });
  }

  async firstPrompt(
    { agent, session }: Child,
    record: AgentRecord,
    { signal }: { signal: AbortSignal },
  ): Promise<string> {
    const tree = this.#tree;
    const definition = tree.agents.get(record.agentType);
    const parts: string[] = [];
    if (!tree.hooks.isEmpty) {
      const details = { agentName: record.agentType, transcriptPath: await tree.transcriptPath() };
      const output = await tree.hooks.run("subagentStart", details, {
        caller: { ...callerOf(agent), session },
        signal,
      });
      if (output?.additionalContext) parts.push(output.additionalContext);
    }
    for (const name of definition.skills) {
      const skill = tree.skills.load(name);
      session.append("skill.invoked", {
        name: skill.name,
        path: skill.path,
        content: skill.content,
        description: skill.description,
        source: skill.source,
        trigger: "context-load",
      });
      parts.push(skillContext(skill));
    }
    await session.log.committed(); // What the parent said in this very turn is in the store before it is handed on.
    const inherited = tree.inheritBlock(record);
    if (inherited) parts.push(inherited);
    return [...parts, record.prompt].join("\n\n");
  }

  #create(record: AgentRecord, parent: Session): Session {
    const { root } = this.#tree;
    const now = root.world.now();
    root.log.create({
      id: record.id,
      rootId: root.id,
      parentId: parent.id,
      cwd: parent.place.workingDirectory,
      name: record.name,
      userNamed: false,
      createdAt: now,
      updatedAt: now,
    });
    return this.#session(record, parent, { stored: [], state: new SessionState() });
  }

  async #load(record: AgentRecord, parent: Session): Promise<Session> {
    const { store, root } = this.#tree;
    await root.log.committed(); // What this process knows of the child is in the store.
    const { entries, problems } = readInbox(await store.inbox(record.id));
    const events = await store.events.read(root.id, { sessionId: record.id });
    const { state, problems: damaged } = replay(events, record.id);
    warnUnreadable(root, [...problems.map(({ message }) => message), ...damaged]);
    return this.#session(record, parent, { stored: entries, state });
  }

  #session(
    record: AgentRecord,
    parent: Session,
    { stored, state }: { stored: readonly InboxEntry[]; state: SessionState },
  ): Session {
    const { log, world, place } = this.root;
    return new Session({
      id: record.id,
      log,
      world,
      place: { ...place },
      parent,
      parentCallId: record.callId,
      inbox: new Inbox({ sessionId: record.id, log, stored }),
      state,
    });
  }

  async #announce(session: Session, record: AgentRecord, agent: WorkingAgent): Promise<void> {
    const isNested = session.parent?.parent !== undefined;
    session.append("subagent.started", {
      toolCallId: record.callId,
      agentName: record.agentType,
      agentDisplayName: record.displayName,
      agentDescription: record.description,
      agentType: record.agentType,
      executionMode: record.mode,
      ...(isNested ? { parentId: record.ownerId } : {}),
      model: record.model,
      ...(record.taskModelSource ? { taskModelSource: record.taskModelSource } : {}),
      ...(record.modelSelectionSource ? { modelSelectionSource: record.modelSelectionSource } : {}),
      resumable: true,
      remoteSessionId: session.id,
      path: record.path,
    });
    const { definition } = agent;
    if (definition && definition.source !== "builtin") {
      session.append("subagent.selected", {
        agentName: definition.name,
        agentDisplayName: definition.displayName,
        tools: definition.tools ? [...definition.tools] : null,
      });
    }
    session.append("subagent.configured", {
      model: record.model,
      multiTurn: record.isMultiTurn,
      ...(record.reasoningEffort ? { reasoningEffort: record.reasoningEffort } : {}),
    });
    session.append("session.model_change", {
      newModel: record.model,
      source: "agent",
      reasoningEffort: record.reasoningEffort ?? null,
      contextTier: null,
    });
    await session.log.committed();
  }
}

function usedBefore({ state: { usage } }: Session): { turns: number; tokens: number; toolCalls: number } {
  let turns = 0;
  for (const { requests } of usage.models.values()) turns += requests;
  return { turns, tokens: usage.tokens, toolCalls: usage.toolCalls };
}
