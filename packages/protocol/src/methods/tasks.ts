/** Calls about tasks: agents, shells, and work that a client reports. */
import * as z from "zod";
import { EndReason, FleetProgress } from "../events/subagents.ts";
import { byName, empty, justSession, method, ofSession } from "../method.ts";
import { AgentPath, AgentPathNames, count, flag, json, jsonObject, lazy, type Of, text } from "../schema.ts";
import { Budget, Isolation } from "../session-config.ts";

export const TaskStatus = lazy(() => z.enum(["running", "idle", "completed", "failed", "cancelled"]));
export type TaskStatus = Of<typeof TaskStatus>;

/** What became of the work of an agent in a worktree of its own. Ours. */
export const WorktreeResult = lazy(() =>
  z.discriminatedUnion("type", [
    /** It has changed nothing that git would keep. */
    z.object({ type: z.literal("unchanged") }),
    /** Its changes are in the working tree, uncommitted. */
    z.object({ type: z.literal("merged"), files: z.array(z.string()) }),
    /** They could not be merged; the working tree is as it was, and the work is kept as this ref. */
    z.object({ type: z.literal("conflicts"), files: z.array(z.string()), why: z.string(), ref: z.string() }),
    /** The agent has not completed, so nothing was merged. */
    z.object({ type: z.literal("kept"), files: z.array(z.string()), ref: z.string() }),
    /** Git failed. Without a ref there is no work that could be kept. */
    z.object({ type: z.literal("failed"), error: z.string(), ref: text() }),
  ]),
);
export type WorktreeResult = Of<typeof WorktreeResult>;

export const AgentTask = lazy(() =>
  z.object({
    type: z.literal("agent"),
    id: z.string(),
    toolCallId: z.string(),
    agentType: z.string(),
    displayName: text(),
    description: z.string(),
    status: TaskStatus(),
    /** The latest prompt. */
    prompt: z.string(),
    latestResponse: text(),
    result: text(),
    /** The latest answer as data, where a schema was asked for. Ours. */
    typedResult: json().optional(),
    error: text(),
    /** What the last run came to, where its status does not say it. Ours. */
    reason: EndReason().optional(),
    /** Null when nobody named one. */
    model: z.string().nullish(),
    resolvedModel: text(),
    executionMode: z.enum(["sync", "background"]).optional(),
    canPromoteToBackground: flag(),
    startedAt: z.string(),
    completedAt: text(),
    idleSince: text(),
    activeTimeMs: count(),
    activeStartedAt: text(),
    /** It works in a git worktree of its own, and when it has ended: what became of its work. Ours. */
    isolation: Isolation().optional(),
    worktree: WorktreeResult().optional(),
    /** The session of the agent that started it. Ours. */
    ownerId: text(),
    /** The agent above, when that is a sub-agent too. Ours. */
    parentId: text(),
    /** Ids from the main agent's child down to this agent. Ours. */
    path: AgentPath().optional(),
    /** Their names. Ours. */
    pathNames: AgentPathNames().optional(),
  }),
);
export type AgentTask = Of<typeof AgentTask>;

export const ShellTask = lazy(() =>
  z.object({
    type: z.literal("shell"),
    id: z.string(),
    description: z.string(),
    status: TaskStatus(),
    /** The session of the agent that started it. Ours. */
    ownerId: text(),
    command: z.string(),
    attachmentMode: z.enum(["attached", "detached"]),
    executionMode: z.enum(["sync", "background"]).optional(),
    canPromoteToBackground: flag(),
    pid: count(),
    logPath: text(),
    startedAt: z.string(),
    completedAt: text(),
  }),
);
export type ShellTask = Of<typeof ShellTask>;

const ClientTaskStatus = lazy(() => z.enum(["running", "idle", "completed", "failed", "cancelled", "orphaned"]));

export const ClientTask = lazy(() =>
  z.object({
    type: z.literal("client"),
    id: z.string(),
    clientTaskId: z.string(),
    displayName: text(),
    description: z.string(),
    status: ClientTaskStatus(),
    owner: z.object({
      participantId: z.string(),
      joinId: z.string(),
      kind: z.enum(["sdk", "extension"]),
      displayName: text(),
      source: text(),
      presence: z.string(),
      disconnectedAt: text(),
    }),
    executionMode: z.literal("background"),
    canCancel: z.boolean(),
    sequence: z.number(),
    result: json().optional(),
    error: text(),
    errorCode: text(),
    cancellationReason: text(),
    startedAt: z.string(),
    updatedAt: z.string(),
    completedAt: text(),
    activeTimeMs: z.number(),
    activeStartedAt: text(),
    idleSince: text(),
    orphanedAt: text(),
    reclaimedAt: text(),
  }),
);
export type ClientTask = Of<typeof ClientTask>;

export const TaskInfo = lazy(() => z.discriminatedUnion("type", [AgentTask(), ShellTask(), ClientTask()]));
export type TaskInfo = Of<typeof TaskInfo>;

const Activity = lazy(() => z.object({ message: z.string(), timestamp: z.string() }));

/** What an MCP server says about a task of its own. */
export const McpTaskProgress = lazy(() =>
  z.object({
    serverName: z.string(),
    toolName: z.string(),
    /** The server's id for it. */
    taskId: z.string(),
    /** As the server says: `working`, `input_required`, `completed`, `failed`, `cancelled`. */
    status: z.string(),
    statusMessage: text(),
    progress: count(),
    total: count(),
    progressMessage: text(),
    /** When the server could not be asked, or answered wrongly; the latest ones. */
    eventStreamWarnings: z.array(Activity()),
    createdAt: text(),
    lastUpdatedAt: text(),
    /** How long the server keeps it; null: not said. */
    ttlMs: z.number().nullish(),
    pollIntervalMs: count(),
  }),
);
export type McpTaskProgress = Of<typeof McpTaskProgress>;

export const TaskProgress = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({
      type: z.literal("agent"),
      recentActivity: z.array(Activity()),
      latestIntent: text(),
      /** Ours. */
      totalToolCalls: count(),
      totalTokens: count(),
      /** The latest answer as data, where a schema was asked for. Ours. */
      typedResult: json().optional(),
      /** Of an agent of type `mcp-task`. */
      mcpTask: McpTaskProgress().optional(),
      /** Of an agent of type `fleet`. Ours. */
      fleet: FleetProgress().optional(),
    }),
    z.object({ type: z.literal("shell"), recentOutput: z.string(), pid: count() }),
    z.object({
      type: z.literal("client"),
      status: ClientTaskStatus(),
      sequence: z.number(),
      updatedAt: z.string(),
      phase: text(),
      percentage: count(),
      lastMessage: text(),
      recentActivity: z.array(Activity()),
    }),
  ]),
);
export type TaskProgress = Of<typeof TaskProgress>;

export const ClientTaskUpdate = lazy(() =>
  z.discriminatedUnion("kind", [
    z.object({
      kind: z.literal("progress"),
      status: z.enum(["running", "idle"]).optional(),
      message: text(),
      phase: z.string().nullish(),
      percentage: z.number().nullish(),
    }),
    z.object({ kind: z.literal("completed"), message: text(), result: json().optional() }),
    z.object({ kind: z.literal("failed"), message: text(), error: z.string(), code: text() }),
    z.object({ kind: z.literal("cancelled"), message: text(), reason: text() }),
  ]),
);
export type ClientTaskUpdate = Of<typeof ClientTaskUpdate>;

const byId = lazy(() => ofSession({ id: z.string() }));
const maybeTask = lazy(() => z.object({ task: TaskInfo().optional() }));

const allTasks = byName(
  method("session.tasks.list", {
    summary: "All tasks; ended ones stay until they are removed.",
    params: justSession,
    result: () => z.object({ tasks: z.array(TaskInfo()) }),
  }),
  method("session.tasks.getProgress", {
    summary: "What a task is doing.",
    params: byId,
    result: () => z.object({ progress: TaskProgress().nullable() }),
  }),
  method("session.tasks.cancel", {
    summary: "Cancels a task and everything below it.",
    params: byId,
    result: () => z.object({ cancelled: z.boolean() }),
  }),
  method("session.tasks.remove", {
    summary: "Removes an ended task from the list.",
    params: byId,
    result: () => z.object({ removed: z.boolean() }),
  }),
  method("session.tasks.getCurrentPromotable", {
    summary: "The task that the main turn waits for.",
    params: justSession,
    result: maybeTask,
  }),
  method("session.tasks.promoteCurrentToBackground", {
    summary: "Lets the main turn go on while that task runs.",
    params: justSession,
    result: maybeTask,
  }),
  method("session.tasks.promoteToBackground", {
    summary: "The same for a task by its id.",
    params: byId,
    result: () => z.object({ promoted: z.boolean() }),
  }),
  method("session.tasks.refresh", {
    summary: "Looks at the state of shells again.",
    params: justSession,
    result: empty,
  }),
  method("session.tasks.waitForPending", {
    summary: "Answers when no task runs any more.",
    params: justSession,
    result: empty,
  }),
);

const agentTasks = byName(
  method("session.tasks.startAgent", {
    summary: "Starts a background agent without the model.",
    params: () =>
      ofSession({
        agentType: z.string(),
        prompt: z.string(),
        name: z.string(),
        description: text(),
        model: text(),
        /** What it may use at most; it can only lower the agent's own limits. Ours. */
        budget: Budget().optional(),
        /** It works in a git worktree of its own. Ours. */
        isolation: Isolation().optional(),
        /** A JSON Schema that its answers must fit. Ours. */
        schema: jsonObject().optional(),
      }),
    result: () => z.object({ agentId: z.string() }),
  }),
  method("session.tasks.sendMessage", {
    summary: "Sends an agent a further message.",
    params: () => ofSession({ id: z.string(), message: z.string(), fromAgentId: text() }),
    result: () => z.object({ sent: z.boolean(), error: text() }),
  }),
);

const clientTasks = byName(
  method("session.tasks.register", {
    summary: "Reports work that a client does; the session is not idle while it runs.",
    params: () =>
      ofSession({
        type: z.literal("client"),
        clientTaskId: z.string(),
        description: z.string(),
        displayName: text(),
        cancellable: z.boolean(),
        expectedSequence: count(),
      }),
    result: () => z.object({ task: ClientTask(), created: z.boolean(), reclaimed: z.boolean() }),
  }),
  method("session.tasks.update", {
    summary: "Reports progress or the end of such work.",
    params: () => ofSession({ id: z.string(), sequence: z.number(), update: ClientTaskUpdate() }),
    result: () => z.object({ task: ClientTask(), applied: z.boolean(), duplicate: z.boolean() }),
  }),
);

export const TASK_METHODS = { ...allTasks, ...agentTasks, ...clientTasks };
