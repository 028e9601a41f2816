/** Events of sub-agents: start, set-up, end, and which agent speaks for the session. */
import * as z from "zod";
import { byName } from "../method.ts";
import { AgentPath, AgentPathNames, count, flag, json, lazy, type Of, open, strings, text } from "../schema.ts";
import { event } from "./event.ts";
import { ModelUsage } from "./session.ts";

/** Why an agent was ended from outside, or that all it came to are refusals of its calls. Ours. */
export const EndReason = lazy(() => z.enum(["timed_out", "over_budget", "lost", "refused"]));
export type EndReason = Of<typeof EndReason>;

export const ModelSelectionSource = lazy(() =>
  z.enum([
    "explicit_override",
    "configured_required",
    "configured_preference",
    "complementary_default",
    "session_inheritance",
    "agent_definition_default",
    "runtime_policy",
  ]),
);
export type ModelSelectionSource = Of<typeof ModelSelectionSource>;

/** Who asked for the model. */
export const TaskModelSource = lazy(() =>
  z.enum(["task_argument", "subagent_configuration", "custom_agent_definition", "unset"]),
);
export type TaskModelSource = Of<typeof TaskModelSource>;

/** How far the todos of a fleet are. Ours. */
export const FleetProgress = lazy(() =>
  z.object({
    total: z.number(),
    done: z.number(),
    running: z.number(),
    /** Tried and given up. */
    failed: z.number(),
    /** They wait for one that has failed, or for themselves. */
    blocked: z.number(),
    /** Not started yet. */
    pending: z.number(),
  }),
);
export type FleetProgress = Of<typeof FleetProgress>;

const ended = () => ({
  toolCallId: z.string(),
  agentName: z.string(),
  agentDisplayName: z.string(),
  /** What its task is called. Ours. */
  taskName: text(),
  model: text(),
  firstDispatchedModel: text(),
  modelSelectionSource: ModelSelectionSource().optional(),
  modelOverrideReason: text(),
  explicitModelOverride: text(),
  totalToolCalls: count(),
  totalTokens: count(),
  durationMs: count(),
  /** What the agent itself used, split as endpoints bill it. Ours. */
  usage: ModelUsage().shape.usage.optional(),
  /** The same by model. Ours. */
  modelMetrics: z.record(z.string(), ModelUsage()).optional(),
  /** What it cost. Ours. */
  totalNanoAiu: count(),
  /** Ours. */
  reason: EndReason().optional(),
  /** Of an agent of type `fleet`. Ours. */
  fleet: FleetProgress().optional(),
});

export const SUBAGENT_EVENTS = byName(
  event("subagent.started", {
    persisted: true,
    summary: "A run of a sub-agent begins: its first, or one with a message. The envelope's `agentId` is its id.",
    data: () =>
      open({
        /** The `task` call that started it; the agent's own id when a client started it. */
        toolCallId: z.string(),
        agentName: z.string(),
        agentDisplayName: z.string(),
        agentDescription: z.string(),
        /** What its task is called: two tasks of one agent differ by it. Ours. */
        taskName: text(),
        /** What its task is about, in the words of the call. Ours. */
        taskDescription: text(),
        agentType: text(),
        executionMode: text(),
        /** The agent above, when that is a sub-agent too. */
        parentId: text(),
        model: text(),
        modelSelectionSource: ModelSelectionSource().optional(),
        taskModelSource: TaskModelSource().optional(),
        resumable: flag(),
        /** The child session's id. Ours. */
        remoteSessionId: text(),
        /** The message with `agentMode: "plan"` that it follows from. Until that plan ends, it changes nothing. Ours. */
        planOf: text(),
        /** Ids from the main agent's child down to this agent. Ours. */
        path: AgentPath().optional(),
        /** Their names. Ours. */
        pathNames: AgentPathNames().optional(),
      }),
  }),
  event("subagent.progress", {
    persisted: false,
    summary: "How far a fleet is. The envelope's `agentId` is its id. Ours.",
    data: () => open({ toolCallId: z.string(), fleet: FleetProgress() }),
  }),
  event("subagent.configured", {
    persisted: true,
    summary: "A sub-agent's model is settled, and whether it takes more messages.",
    data: () => open({ model: z.string(), multiTurn: z.boolean(), reasoningEffort: text(), contextTier: text() }),
  }),
  event("subagent.completed", {
    persisted: true,
    summary: "A run of a sub-agent ended with an answer, or was cancelled.",
    data: () =>
      open({
        ...ended(),
        cancelled: flag(),
        /** Its answer as data, where a schema was asked for. Ours. */
        typedResult: json().optional(),
      }),
  }),
  event("subagent.failed", {
    persisted: true,
    summary: "A run of a sub-agent ended without an answer.",
    data: () => open({ ...ended(), error: z.string() }),
  }),
  event("subagent_session_boundary", {
    persisted: true,
    summary: "A run of a sub-agent begins or ends here: one kind of event for both sides. Ours.",
    data: () =>
      open({
        phase: z.enum(["start", "end", "failure"]),
        /** The first is 1. */
        run: z.number().int(),
        /** The session of the agent above. */
        parentId: z.string(),
        toolCallId: z.string(),
        agentName: z.string(),
        cancelled: flag(),
        error: text(),
      }),
  }),
  event("subagent.selected", {
    persisted: true,
    summary: "An agent became the active one.",
    data: () => open({ agentName: z.string(), agentDisplayName: z.string(), tools: strings().nullable() }),
  }),
  event("subagent.deselected", {
    persisted: true,
    summary: "The default agent is active again.",
    data: () => open({}),
  }),
);
