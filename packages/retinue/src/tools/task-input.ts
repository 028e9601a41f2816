/** The arguments of the tools by which an agent leads others. */
import { lazy } from "@retinue/protocol";
import * as z from "zod";

export const TaskInput = lazy(() =>
  z.object({
    name: z.string().describe("A short name for this piece of work, such as `find-lock`"),
    agent_type: z.string().describe("Which agent does it"),
    description: z.string().describe("The work in three to five words, for the screen"),
    prompt: z.string().min(1).describe("Everything the agent needs to know and do"),
    mode: z.enum(["sync", "background"]).optional().describe("sync waits for the answer; background returns at once"),
    model: z.string().optional().describe("Another model than the usual one"),
    reasoning_effort: z.string().optional(),
    inherit: z
      .string()
      .regex(/^(none|brief|fork|tail\(\d+\))$/)
      .optional()
      .describe("What the agent is told of this session: none, brief, tail(n) or fork"),
    isolation: z
      .literal("worktree")
      .optional()
      .describe("worktree: it writes in a git worktree of its own, and its changes are merged when it has completed"),
    budget: z
      .object({
        maxTurns: z.number().positive().optional(),
        maxSubtreeTurns: z.number().positive().optional(),
        maxTokens: z.number().positive().optional(),
        maxToolCalls: z.number().positive().optional(),
        maxSeconds: z.number().positive().optional(),
        maxCost: z.number().positive().optional(),
        maxSpawns: z.number().min(0).optional(),
      })
      .optional()
      .describe("What this piece of work may use at most; it can only lower the agent's own limits"),
    schema: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("A JSON Schema that the answer must fit; the answer is then JSON, checked before you get it"),
  }),
);
export type TaskInput = z.output<ReturnType<typeof TaskInput>>;

export const ReadInput = lazy(() =>
  z.object({
    agent_id: z.string(),
    wait: z.boolean().optional().describe("Wait for the next answer or the end"),
    timeout: z.number().min(0).max(600).optional().describe("Seconds to wait at most; 30 when not given"),
    since_turn: z.number().int().min(0).optional().describe("Leave out turns before this one"),
  }),
);
export type ReadInput = z.output<ReturnType<typeof ReadInput>>;

export const WriteInput = lazy(() =>
  z.object({
    message: z.string().min(1),
    agent_id: z.string().optional(),
    agent_ids: z.array(z.string()).optional(),
    scope: z.enum(["siblings", "children"]).optional(),
  }),
);
export type WriteInput = z.output<ReturnType<typeof WriteInput>>;

export const ListInput = lazy(() =>
  z.object({
    include_completed: z.boolean().optional(),
    scope: z.enum(["siblings", "children", "all"]).optional(),
  }),
);
export type ListInput = z.output<ReturnType<typeof ListInput>>;
