/**
 * What is known about a sub-agent as a task. Plain data: it is kept in the store and is enough to go on in another process.
 */
import { Budget, EndReason, EVENTS, type EventData } from "@retinue/protocol";
import * as z from "zod";
import type { Inherit } from "../agents/definition.ts";
import { document } from "../store/document.ts";
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

/** The records of a tree, under `<root session>/<task>`. */
export const TASK = document("task", () => agentRecord());

function agentRecord(): z.ZodType<AgentRecord> {
  const { modelSelectionSource, taskModelSource } = EVENTS["subagent.started"].data().shape;
  const text = z.string().optional();
  const time = z.number().optional();
  return z.object({
    id: z.string(),
    rootId: z.string(),
    ownerId: z.string(),
    callId: z.string(),
    agentType: z.string(),
    name: z.string(),
    displayName: z.string(),
    description: z.string(),
    prompt: z.string(),
    path: z.array(z.string()),
    mode: z.enum(["sync", "background"]),
    isMultiTurn: z.boolean(),
    status: z.enum(["running", "idle", "completed", "failed", "cancelled"]),
    reason: EndReason().optional(),
    error: text,
    model: z.string(),
    reasoningEffort: text,
    modelSelectionSource,
    taskModelSource,
    note: text,
    inherit: z.union([z.enum(["none", "brief", "fork"]), z.object({ tail: z.number() })]),
    budget: Budget(),
    startedAt: z.number(),
    completedAt: time,
    idleSince: time,
    activeMs: z.number(),
    activeSince: time,
    hasEnded: z.boolean(),
    turns: z.array(z.object({ message: text, response: z.string() })),
  });
}

export const recordKey = ({ rootId, id }: Pick<AgentRecord, "rootId" | "id">): string => `${rootId}/${id}`;

export function activeMs(record: AgentRecord, now: number): number {
  return record.activeMs + (record.activeSince === undefined ? 0 : now - record.activeSince);
}
