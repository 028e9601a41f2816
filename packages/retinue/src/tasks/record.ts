/**
 * The record of a task: plain data in the store, and enough to continue the task in another process.
 *
 * One record type for every kind. The common fields belong to the registry, the others to the executor of the kind.
 */
import {
  Budget,
  EndReason,
  FleetProgress,
  Isolation,
  lazy,
  ModelSelectionSource,
  TaskModelSource,
  WorktreeResult,
} from "@retinue/protocol";
import * as z from "zod";
import { document } from "../store/document.ts";
import type { Documents } from "../store/store.ts";
import { isEnded, TASK_STATES } from "./moves.ts";

const head = lazy(() =>
  z.object({
    /** Unique in its session tree. */
    id: z.string(),
    /** A shorter id, unique among the tasks of one owner. Clients and the model use it where there is one. */
    alias: z.string().optional(),
    rootId: z.string(),
    /** The session of the agent that started it. */
    ownerId: z.string(),
    /** The call that started it; its own id when a client did. */
    callId: z.string(),
    /** For people, not unique. */
    name: z.string(),
    /** The name to display; `name` when absent. */
    displayName: z.string().optional(),
    description: z.string(),
    /** The name of the agent that does it, or the kind. */
    agentType: z.string(),
    /** What it was started with. */
    prompt: z.string(),
    /** A remark on the model or mode that was chosen, for its starter to read. */
    note: z.string().optional(),
    /** Whether a call waits for it. */
    mode: z.enum(["sync", "background"]),
    /** Meant to outlive the session, so the session does not wait for it. */
    isDetached: z.boolean().optional(),
    /** Takes more messages after it has answered. */
    isMultiTurn: z.boolean(),
    status: z.enum(TASK_STATES),
    reason: EndReason().optional(),
    error: z.string().optional(),
    /** The limits of one run. */
    budget: Budget(),
    startedAt: z.number(),
    completedAt: z.number().optional(),
    idleSince: z.number().optional(),
    activeMs: z.number(),
    activeSince: z.number().optional(),
    /** The message that the current run answers; absent in the first run. */
    message: z.string().optional(),
    /** What each run answered; `error` is what the run failed with after these words. */
    turns: z.array(z.object({ message: z.string().optional(), response: z.string(), error: z.string().optional() })),
    /** Messages that came while it ran: each gets a run of its own, in this order. */
    waiting: z.array(z.object({ text: z.string(), source: z.string() })).optional(),
  }),
);

/** A sub-agent. */
export const AgentRecord = lazy(() =>
  head().extend({
    kind: z.literal("agent"),
    model: z.string(),
    reasoningEffort: z.string().optional(),
    modelSelectionSource: ModelSelectionSource().optional(),
    taskModelSource: TaskModelSource().optional(),
    inherit: z.union([z.enum(["none", "brief", "fork"]), z.object({ tail: z.number() })]),
    /** It gets a git worktree of its own. */
    isolation: Isolation().optional(),
    /** Where it works, and to which folder it is confined. Absent: where the main agent works. */
    place: z
      .object({
        workingDirectory: z.string(),
        confinement: z.object({ root: z.string(), mirrors: z.array(z.string()), closed: z.array(z.string()) }),
      })
      .optional(),
    /** What became of the work in its worktree. */
    worktree: WorktreeResult().optional(),
    /** How long the current run has worked, when an earlier process began it. */
    workedMs: z.number().optional(),
    /** The JSON Schema that every answer must fit. */
    schema: z.record(z.string(), z.unknown()).optional(),
    /** How often an answer of the current run did not fit. */
    corrections: z.number().optional(),
    /** The latest answer as data. In an object, because `null` is an answer. */
    result: z.object({ value: z.unknown() }).optional(),
    /** The log has a `subagent.started` without an end. Changes in the transaction of those events, and the log decides. */
    owesEnd: z.boolean(),
    /** How many runs have begun. The log decides. */
    runs: z.number().optional(),
  }),
);
export type AgentRecord = z.output<ReturnType<typeof AgentRecord>>;

/** A command in a process group of its own. */
export const ShellRecord = lazy(() =>
  head().extend({
    kind: z.literal("shell"),
    command: z.string(),
    cwd: z.string(),
    isInteractive: z.boolean(),
    env: z.record(z.string(), z.string()).optional(),
  }),
);
export type ShellRecord = z.output<ReturnType<typeof ShellRecord>>;

/** Work that a client does and reports on. */
export const ClientRecord = lazy(() =>
  head().extend({
    kind: z.literal("client"),
    /** The client's own id for it. */
    clientTaskId: z.string(),
    /** The connection that reports on it. */
    clientId: z.string(),
    canCancel: z.boolean(),
    /** The last report that counted. */
    sequence: z.number(),
    updatedAt: z.number(),
    orphanedAt: z.number().optional(),
    reclaimedAt: z.number().optional(),
    result: z.unknown().optional(),
    errorCode: z.string().optional(),
    cancellationReason: z.string().optional(),
    phase: z.string().optional(),
    percentage: z.number().optional(),
    activity: z.array(z.object({ message: z.string(), timestamp: z.string() })),
  }),
);
export type ClientRecord = z.output<ReturnType<typeof ClientRecord>>;

/** Work that an MCP server goes on with after the call that started it. */
export const McpTaskRecord = lazy(() =>
  head().extend({
    kind: z.literal("mcp-task"),
    server: z.string(),
    /** Which connection is meant, where several servers have the name. */
    serverIdentity: z.string(),
    /** As the server calls it. */
    tool: z.string(),
    dialect: z.string(),
    /** The server's own id for it. */
    serverTaskId: z.string(),
    /** What the server said last. */
    serverStatus: z.string(),
    statusMessage: z.string().optional(),
    createdAt: z.string().optional(),
    updatedAt: z.string().optional(),
    ttlMs: z.number().nullish(),
    pollMs: z.number().optional(),
    progress: z
      .object({ progress: z.number(), total: z.number().optional(), message: z.string().optional() })
      .optional(),
    /** When the server could not be asked, or answered wrongly. */
    warnings: z.array(z.object({ message: z.string(), timestamp: z.string() })),
  }),
);
export type McpTaskRecord = z.output<ReturnType<typeof McpTaskRecord>>;

/** Todos that are worked off by agents, which it owns. */
export const FleetRecord = lazy(() =>
  head().extend({
    kind: z.literal("fleet"),
    /** `planning`: the main agent writes the todos; what runs then is the plan. */
    phase: z.enum(["planning", "running"]),
    /** The prompt that asks for the plan, while it waits; absent when the plan is made by a run that goes on. */
    planPromptId: z.string().optional(),
    /** The message with `agentMode: "plan"` that it follows from: until that plan ends, its agents change nothing. */
    planOf: z.string().optional(),
    /** The graph was given by a program, and the fleet has no other todos than those and what is added later. */
    isGiven: z.boolean(),
    /** Todos that were there before and are not the fleet's. */
    leaves: z.array(z.string()),
    maxConcurrent: z.number(),
    retries: z.number(),
    /** Each agent works in a git worktree of its own. */
    isolation: Isolation().optional(),
    /** The JSON Schema that the answers of todos without one of their own must fit. */
    schema: z.record(z.string(), z.unknown()).optional(),
    progress: FleetProgress(),
  }),
);
export type FleetRecord = z.output<ReturnType<typeof FleetRecord>>;

export const TaskRecord = lazy(() =>
  z.discriminatedUnion("kind", [AgentRecord(), ShellRecord(), ClientRecord(), McpTaskRecord(), FleetRecord()]),
);
export type TaskRecord = z.output<ReturnType<typeof TaskRecord>>;
export type TaskKind = TaskRecord["kind"];

/** The part of a record that every new task starts with. */
export function newHead(now: number) {
  return {
    status: "running" as const,
    isMultiTurn: false,
    budget: {},
    startedAt: now,
    activeMs: 0,
    turns: [],
  };
}

/** The records of a tree, under `<root session>/<task>`. Version 1 had only sub-agents, and no kind; 2 only the end of the first run; 3 no MCP tasks; 4 let every agent write anywhere, and had no fleets. */
export const TASK = document("task", () => TaskRecord(), {
  version: 5,
  migrate: (stored) => (typeof stored === "object" ? { kind: "agent", owesEnd: false, ...stored } : stored),
});

export const recordKey = ({ rootId, id }: Pick<TaskRecord, "rootId" | "id">): string => `${rootId}/${id}`;

/** Whether a task with this key will be continued when its session is opened again. One that cannot be read is left alone. */
export async function goesOn(documents: Documents, key: string): Promise<boolean> {
  const record = await TASK.get(documents, key).catch(() => undefined);
  const isThere = record !== undefined || (await documents.get(TASK.kind, key)) !== undefined;
  return isThere && (record === undefined || !isEnded(record.status));
}

/** How long it has worked so far. */
export function activeMs({ activeMs, activeSince }: Pick<TaskRecord, "activeMs" | "activeSince">, now: number): number {
  return activeMs + (activeSince === undefined ? 0 : now - activeSince);
}

/** Whether it is running work of this session that no call waits for. */
export function isBackground({ mode, status, isDetached }: TaskRecord): boolean {
  return mode === "background" && status === "running" && isDetached !== true;
}
