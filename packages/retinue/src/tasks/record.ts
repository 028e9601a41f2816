/**
 * What is known about a sub-agent as a task. Plain data: it is kept in the store and is enough to go on in another process.
 */
import type { Budget, EndReason, EventData } from "@retinue/protocol";
import type { Inherit } from "../agents/definition.ts";
import type { TaskStatus } from "./state.ts";

export interface AgentRecord {
  id: string;
  rootId: string;
  /** The session of the agent that started it. */
  ownerId: string;
  /** The call that started it; its own id when a client did. */
  callId: string;
  agentType: string;
  /** The `name` argument: for people, not unique. */
  name: string;
  displayName: string;
  description: string;
  /** The latest prompt. */
  prompt: string;
  /** Names from the main agent's child down to this agent. */
  path: string[];
  mode: "sync" | "background";
  /** Takes more messages after it has answered. */
  isMultiTurn: boolean;
  status: TaskStatus;
  reason?: EndReason;
  error?: string;
  model: string;
  reasoningEffort?: string;
  modelSelectionSource?: EventData<"subagent.started">["modelSelectionSource"];
  taskModelSource?: EventData<"subagent.started">["taskModelSource"];
  /** Words about the model or the mode that the one who started it must read. */
  note?: string;
  inherit: Inherit;
  budget: Budget;
  startedAt: number;
  completedAt?: number;
  idleSince?: number;
  activeMs: number;
  activeSince?: number;
  /** The end of the first run was told. */
  hasEnded: boolean;
  turns: { message?: string; response: string }[];
}

export const recordKey = ({ rootId, id }: Pick<AgentRecord, "rootId" | "id">): string => `${rootId}/${id}`;

export function activeMs(record: AgentRecord, now: number): number {
  return record.activeMs + (record.activeSince === undefined ? 0 : now - record.activeSince);
}
