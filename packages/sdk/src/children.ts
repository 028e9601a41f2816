/**
 * Child sessions: which session of this client answers for the child session of a sub-agent.
 *
 * Owns the three maps and every change to them. A change is one synchronous step in which no handler runs, so a
 * handler always sees consistent maps. Which handler is called is decided in requests.ts and broadcast.ts.
 */
import type { SessionEvent } from "@retinue/protocol";
import { AppError } from "@retinue/protocol";

export interface SubagentInstance {
  readonly agentName: string;
  /** The call that launched the sub-agent. */
  readonly toolCallId: string;
  readonly childSessionId: string;
  readonly startedAt: Date;
}

/** What is needed of a session to answer for its children. */
export interface ParentSession {
  readonly sessionId: string;
  /** Per custom agent: the tools it may use, or null when it may use all. */
  readonly allowlists: ReadonlyMap<string, ReadonlySet<string> | null>;
}

export interface Resolved<Session> {
  readonly session: Session;
  readonly isChild: boolean;
}

export class Children<Session extends ParentSession> {
  readonly childToParent = new Map<string, string>();
  readonly childToAgent = new Map<string, string>();
  readonly subagentInstances = new Map<string, Map<string, SubagentInstance>>();
  readonly #sessions: ReadonlyMap<string, Session>;
  /** The reverse of childToParent, so that forgetting a session costs only its own children. */
  readonly #parentToChildren = new Map<string, Set<string>>();
  /** Events name a sub-agent by its agent id, which need not be its session's. */
  readonly #agentToChild = new Map<string, string>();

  constructor(sessions: ReadonlyMap<string, Session>) {
    this.#sessions = sessions;
  }

  /** The session that answers for an id: itself, else the parent of the child. */
  resolveSession(sessionId: string): Resolved<Session> {
    const direct = this.#sessions.get(sessionId);
    if (direct) return { session: direct, isChild: false };
    const parentId = this.childToParent.get(sessionId);
    if (parentId === undefined) throw new AppError("unknown_session", `unknown session ${sessionId}`);
    const parent = this.#sessions.get(parentId);
    if (parent) return { session: parent, isChild: true };
    throw new AppError("unknown_session", `parent session ${parentId} for child ${sessionId} not found`);
  }

  /** Whether the agent of a child session lists a tool. Agents that the session does not define may use all of them. */
  isToolAllowedForChild(childSessionId: string, toolName: string): boolean {
    const agentName = this.childToAgent.get(childSessionId);
    const parentId = this.childToParent.get(childSessionId);
    if (agentName === undefined || parentId === undefined) return true;
    const allowed = this.#sessions.get(parentId)?.allowlists.get(agentName);
    return !allowed || allowed.has(toolName);
  }

  /** The child session of an agent that events name; undefined when its start was not seen. */
  childOf(agentId: string): string | undefined {
    return this.childToParent.has(agentId) ? agentId : this.#agentToChild.get(agentId);
  }

  /** Follows `subagent.started`, `completed` and `failed` of a session, or of a child session below it. */
  observe(sessionId: string, event: SessionEvent): void {
    if (event.type === "subagent.started") {
      const childSessionId = event.data.remoteSessionId ?? event.agentId;
      if (childSessionId === undefined) return;
      const { toolCallId, agentName } = event.data;
      if (event.agentId !== undefined && event.agentId !== childSessionId) {
        this.#agentToChild.set(event.agentId, childSessionId);
      }
      this.register(sessionId, { agentName, toolCallId, childSessionId, startedAt: new Date(event.timestamp) });
    } else if (event.type === "subagent.completed" || event.type === "subagent.failed") {
      this.#settle(this.#rootOf(sessionId), event.data.toolCallId);
    }
  }

  register(sessionId: string, instance: SubagentInstance): void {
    const parentId = this.#rootOf(sessionId);
    const { childSessionId, toolCallId } = instance;
    const known = this.childToParent.get(childSessionId);
    // A child keeps its first parent: other claims to it, or to a session of ours as a child, are ignored.
    if ((known !== undefined && known !== parentId) || this.#sessions.has(childSessionId)) return;
    if (known === undefined) {
      this.childToParent.set(childSessionId, parentId);
      this.childToAgent.set(childSessionId, instance.agentName);
      entry(this.#parentToChildren, parentId, () => new Set<string>()).add(childSessionId);
    }
    const instances = entry(this.subagentInstances, parentId, () => new Map<string, SubagentInstance>());
    if (!instances.has(toolCallId)) instances.set(toolCallId, instance);
  }

  /** Removes a session's children. Returns the sub-agents that had not ended. */
  forget(parentId: string): SubagentInstance[] {
    for (const child of this.#parentToChildren.get(parentId) ?? []) {
      this.childToParent.delete(child);
      this.childToAgent.delete(child);
    }
    const running = [...(this.subagentInstances.get(parentId)?.values() ?? [])];
    for (const [agentId, child] of this.#agentToChild)
      if (!this.childToParent.has(child)) this.#agentToChild.delete(agentId);
    this.#parentToChildren.delete(parentId);
    this.subagentInstances.delete(parentId);
    return running;
  }

  clear(): void {
    this.childToParent.clear();
    this.childToAgent.clear();
    this.subagentInstances.clear();
    this.#parentToChildren.clear();
    this.#agentToChild.clear();
  }

  /** Only the instance goes: requests of an ended sub-agent may still be on their way, and must resolve. */
  #settle(parentId: string, toolCallId: string): void {
    this.subagentInstances.get(parentId)?.delete(toolCallId);
  }

  /** A sub-agent of a sub-agent belongs to the session at the top, which has the handlers. */
  #rootOf(sessionId: string): string {
    return this.childToParent.get(sessionId) ?? sessionId;
  }
}

function entry<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
