/** Calls about fleets: todos that are worked off by several sub-agents. */
import * as z from "zod";
import { Attachments } from "../attachments.ts";
import { FleetProgress } from "../events/subagents.ts";
import { byName, method, ofSession } from "../method.ts";
import { flag, json, lazy, type Of, text } from "../schema.ts";
import { TaskStatus, WorktreeResult } from "./tasks.ts";

/** A piece of work that one agent can do. */
export const FleetTodo = lazy(() =>
  z.strictObject({
    /** Without control characters, which the tables do not keep. */
    id: z
      .string()
      .min(1)
      .max(200)
      .regex(/^\P{Cc}+$/u),
    title: z.string().min(1),
    /** All that its agent needs to know. */
    description: text(),
    /** Which agent does it; `general-purpose` when absent. */
    agent: text(),
    /** JSON Schema that its result must fit; the result is then data. */
    schema: z.record(z.string(), json()).optional(),
  }),
);
export type FleetTodo = Of<typeof FleetTodo>;

/** `todoId` waits for `dependsOn`. */
export const FleetDependency = lazy(() => z.strictObject({ todoId: z.string(), dependsOn: z.string() }));
export type FleetDependency = Of<typeof FleetDependency>;

/** What a todo came to. */
export const FleetResult = lazy(() =>
  z.object({
    todoId: z.string(),
    title: z.string(),
    status: z.enum(["pending", "in_progress", "done", "blocked"]),
    /** Its latest agent. */
    agentId: text(),
    attempts: z.number(),
    /** What the agent answered. */
    text: text(),
    /** The same as data, when its agent had a schema. */
    typedResult: json().optional(),
    /** What became of its work, when it had a worktree of its own. */
    worktree: WorktreeResult().optional(),
    /** Why it is blocked, or what its last try failed with. */
    error: text(),
  }),
);
export type FleetResult = Of<typeof FleetResult>;

export const FleetReport = lazy(() =>
  z.object({
    fleetId: z.string(),
    status: TaskStatus(),
    error: text(),
    progress: FleetProgress(),
    results: z.array(FleetResult()),
  }),
);
export type FleetReport = Of<typeof FleetReport>;

export const FLEET_METHODS = byName(
  method("session.fleet.start", {
    summary: "Lets several sub-agents work off todos: those that the model plans, or those that are given.",
    params: () =>
      ofSession({
        prompt: text(),
        attachments: Attachments().optional(),
        /** Answers when the work is over: the main agent has had the last word, or the given todos have ended. */
        wait: flag(),
        /** The graph itself, so that nobody plans. Ours, and all below. */
        todos: z.array(FleetTodo()).max(100_000).optional(),
        deps: z.array(FleetDependency()).optional(),
        /** JSON Schema for the results of all todos that have none of their own. */
        schema: z.record(z.string(), json()).optional(),
        /** How many agents work at the same time at most. */
        maxConcurrent: z.number().int().min(1).max(256).optional(),
        /** How often a todo that failed is tried again; once when absent. */
        retries: z.number().int().min(0).max(10).optional(),
        /** Whether each agent works in a worktree of its own. */
        isolation: z.enum(["none", "worktree"]).optional(),
      }),
    result: () =>
      z.object({
        started: z.boolean(),
        /** Ours. */
        fleetId: text(),
        /** With `wait`. Ours. */
        report: FleetReport().optional(),
      }),
  }),
  method("session.fleet.read", {
    summary: "What the todos of a fleet came to; of the latest one when none is named.",
    params: () => ofSession({ fleetId: text(), wait: flag() }),
    result: FleetReport,
  }),
);
