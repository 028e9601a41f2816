/** Events about the session itself: its life, its notices and its settings. Its context is in context.ts. */
import * as z from "zod";
import { byName } from "../method.ts";
import { PermissionMode } from "../permission.ts";
import {
  ContextTier,
  count,
  flag,
  lazy,
  Mode,
  type Of,
  open,
  ReasoningSummary,
  strings,
  text,
  Verbosity,
} from "../schema.ts";
import { CONTEXT_EVENTS, tokenCounts } from "./context.ts";
import { event } from "./event.ts";

const nothing = lazy(() => open({}));

/** Where a session works. */
export const SessionContext = lazy(() =>
  open({
    cwd: z.string(),
    gitRoot: text(),
    repository: text(),
    repositoryHost: text(),
    hostType: z.enum(["github", "ado"]).optional(),
    branch: text(),
    headCommit: text(),
    baseCommit: text(),
  }),
);
export type SessionContext = Of<typeof SessionContext>;

/** Tokens and requests of one model. */
export const ModelUsage = lazy(() =>
  open({
    requests: open({ count: z.number(), cost: z.number() }),
    usage: open({
      inputTokens: z.number(),
      outputTokens: z.number(),
      cacheReadTokens: z.number(),
      cacheWriteTokens: z.number(),
      reasoningTokens: count(),
    }),
    totalNanoAiu: count(),
    /** Which models endpoints said have answered, where those were not the one that was asked. Ours. */
    answeredBy: strings().optional(),
  }),
);
export type ModelUsage = Of<typeof ModelUsage>;

/** Requests of which endpoints have not said what they used, estimated; not in the totals. Ours. */
export const UnreportedUsage = lazy(() =>
  open({ requests: z.number(), inputTokens: z.number(), outputTokens: z.number(), nanoAiu: z.number() }),
);

/** What one agent used; the main agent's key is `main`. */
export const AgentUsage = lazy(() =>
  open({
    agentName: text(),
    agentDisplayName: text(),
    totalApiDurationMs: z.number(),
    totalNanoAiu: z.number(),
    modelMetrics: z.record(z.string(), ModelUsage()),
    unreported: UnreportedUsage().optional(),
  }),
);
export type AgentUsage = Of<typeof AgentUsage>;

const modelChoice = () => ({
  selectedModel: text(),
  reasoningEffort: text(),
  reasoningSummary: ReasoningSummary().optional(),
  verbosity: Verbosity().optional(),
  contextTier: ContextTier().nullish(),
});

const SessionLimits = lazy(() => open({ maxAiCredits: count() }));

const AgentListing = lazy(() =>
  open({
    id: z.string(),
    name: z.string(),
    displayName: z.string(),
    description: z.string(),
    source: z.string(),
    tools: strings().nullable(),
    model: text(),
    userInvocable: z.boolean(),
    disableModelInvocation: flag(),
  }),
);

const lifeEvents = byName(
  event("session.start", {
    persisted: true,
    summary: "A session begins; always the first event of its log.",
    data: () =>
      open({
        sessionId: z.string(),
        version: z.number(),
        producer: z.string(),
        copilotVersion: z.string(),
        startTime: z.string(),
        context: SessionContext().optional(),
        alreadyInUse: flag(),
        remoteSteerable: flag(),
        sessionLimits: SessionLimits().optional(),
        ...modelChoice(),
      }),
  }),
  event("session.resume", {
    persisted: true,
    summary: "A session was opened again.",
    data: () =>
      open({
        resumeTime: z.string(),
        eventCount: z.number(),
        context: SessionContext().optional(),
        alreadyInUse: flag(),
        sessionWasActive: flag(),
        continuePendingWork: flag(),
        eventsFileSizeBytes: count(),
        remoteSteerable: flag(),
        sessionLimits: SessionLimits().nullish(),
        ...modelChoice(),
      }),
  }),
  event("session.idle", {
    persisted: false,
    summary: "Nothing is left to do: no queued prompt, no running turn, no background task.",
    data: () => open({ aborted: flag(), mode: Mode().optional() }),
  }),
  event("session.shutdown", {
    persisted: true,
    summary: "The session was closed; carries its totals.",
    data: () =>
      open({
        shutdownType: z.enum(["routine", "error"]),
        errorReason: text(),
        sessionStartTime: z.number(),
        totalApiDurationMs: z.number(),
        totalPremiumRequests: count(),
        totalNanoAiu: count(),
        codeChanges: open({ linesAdded: z.number(), linesRemoved: z.number(), filesModified: strings() }),
        modelMetrics: z.record(z.string(), ModelUsage()),
        agentMetrics: z.record(z.string(), AgentUsage()).optional(),
        unreported: UnreportedUsage().optional(),
        currentModel: text(),
        currentTokens: count(),
        eventsFileSizeBytes: count(),
        ...tokenCounts(),
      }),
  }),
  event("session.title_changed", {
    persisted: false,
    summary: "The session got a title or a new name.",
    data: () => open({ title: z.string() }),
  }),
  event("session.context_changed", {
    persisted: true,
    summary: "The working folder or its git state changed.",
    data: SessionContext,
  }),
);

const noticeEvents = byName(
  event("session.info", {
    persisted: false,
    summary: "A line of information; stored when it comes from `session.log` without `ephemeral`.",
    data: () => open({ infoType: z.string(), message: z.string(), tip: text(), url: text() }),
  }),
  event("session.warning", {
    persisted: true,
    summary: "Something is wrong, and the session goes on.",
    data: () => open({ warningType: z.string(), message: z.string(), url: text() }),
  }),
  event("session.error", {
    persisted: true,
    summary: "A run failed for good; `session.idle` follows.",
    data: () =>
      open({
        errorType: z.string(),
        message: z.string(),
        errorCode: text(),
        statusCode: count(),
        stack: text(),
        url: text(),
      }),
  }),
  event("session.background_tasks_changed", {
    persisted: false,
    summary: "The task list changed; read it again.",
    data: nothing,
  }),
  event("session.todos_changed", {
    persisted: false,
    summary: "The todos of the session database changed.",
    data: nothing,
  }),
  event("session.workspace_file_changed", {
    persisted: true,
    summary: "A file in the session's own folder was written.",
    data: () => open({ operation: z.enum(["create", "update"]), path: z.string() }),
  }),
  event("session.managed_settings_resolved", {
    persisted: false,
    summary: "Which managed policy applies to the session.",
    data: () =>
      open({
        source: z.string(),
        serverManaged: z.boolean(),
        deviceManaged: z.boolean(),
        clientManaged: flag(),
        policyHelperManaged: flag(),
        failClosed: z.boolean(),
        sandboxEnabledByUndeterminedPolicy: flag(),
        bypassPermissionsDisabled: z.boolean(),
        managedKeys: strings(),
      }),
  }),
);

const settingEvents = byName(
  event("session.mode_changed", {
    persisted: true,
    summary: "The mode changed.",
    data: () => open({ previousMode: Mode(), newMode: Mode() }),
  }),
  event("session.model_change", {
    persisted: true,
    summary: "The model changed, or a sub-agent got its own.",
    data: () =>
      open({
        newModel: z.string(),
        previousModel: text(),
        reasoningEffort: z.string().nullish(),
        previousReasoningEffort: text(),
        contextTier: ContextTier().nullish(),
        source: text(),
        cause: text(),
      }),
  }),
  event("session.permissions_changed", {
    persisted: true,
    summary: "The permission mode changed.",
    data: () => open({ mode: PermissionMode().optional(), previousMode: PermissionMode().optional() }),
  }),
  event("session.plan_changed", {
    persisted: true,
    summary: "plan.md was created, updated or deleted.",
    data: () => open({ operation: z.enum(["create", "update", "delete"]) }),
  }),
  event("session.session_limits_changed", {
    persisted: true,
    summary: "The limits of the session were set or lifted.",
    data: () => open({ sessionLimits: SessionLimits().nullable() }),
  }),
  event("session.tools_updated", {
    persisted: false,
    summary: "The tool list was built for a model.",
    data: () => open({ model: z.string() }),
  }),
  event("session.custom_agents_updated", {
    persisted: false,
    summary: "The agents of the session changed.",
    data: () => open({ agents: z.array(AgentListing()), warnings: strings(), errors: strings() }),
  }),
);

export const SESSION_EVENTS = { ...lifeEvents, ...noticeEvents, ...settingEvents, ...CONTEXT_EVENTS };
