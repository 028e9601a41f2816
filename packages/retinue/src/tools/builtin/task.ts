/**
 * The tools by which an agent leads others: `task`, `read_agent`, `write_agent`, `list_agents`.
 *
 * Owns their parameters and words. The work is done by the session's task service, so that tools never import tasks.
 */
import * as z from "zod";
import { defineTool, failure, type Tool } from "../tool.ts";
import listWords from "./list-agents.md";
import readWords from "./read-agent.md";
import words from "./task.md";
import writeWords from "./write-agent.md";

export interface OfferedAgent {
  name: string;
  description: string;
  isCustom: boolean;
  /** It changes nothing. */
  isReadOnly: boolean;
}

const TaskInput = z.object({
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
  budget: z
    .object({
      maxTurns: z.number().positive().optional(),
      maxTokens: z.number().positive().optional(),
      maxToolCalls: z.number().positive().optional(),
      maxSeconds: z.number().positive().optional(),
      maxCost: z.number().positive().optional(),
    })
    .optional()
    .describe("What this piece of work may use at most; it can only lower the agent's own limits"),
});
export type TaskInput = z.output<typeof TaskInput>;

const ReadInput = z.object({
  agent_id: z.string(),
  wait: z.boolean().optional().describe("Wait for the next answer or the end"),
  timeout: z.number().min(0).max(600).optional().describe("Seconds to wait at most; 30 when not given"),
  since_turn: z.number().int().min(0).optional().describe("Leave out turns before this one"),
});
export type ReadInput = z.output<typeof ReadInput>;

const WriteInput = z.object({
  message: z.string().min(1),
  agent_id: z.string().optional(),
  agent_ids: z.array(z.string()).optional(),
  scope: z.enum(["siblings", "children"]).optional(),
});
export type WriteInput = z.output<typeof WriteInput>;

const ListInput = z.object({
  include_completed: z.boolean().optional(),
  scope: z.enum(["siblings", "children", "all"]).optional(),
});
export type ListInput = z.output<typeof ListInput>;

/** The list of agents is made anew from the live catalog. */
export function taskTool(agents: readonly OfferedAgent[]): Tool {
  const list = agents.map(
    ({ name, description, isCustom, isReadOnly }) =>
      `- \`${name}\`${isCustom ? " (custom)" : ""}${isReadOnly ? " (changes nothing)" : ""}: ${description}`,
  );
  const tool = serviceTool({
    name: "task",
    description: `${words.trim()}\n\nAgents:\n${list.join("\n")}`,
    input: TaskInput,
    readOnly: true, // Started again after a crash, the same call finds its agent and goes on waiting for it.
  });
  const properties = tool.parameters.properties as Record<string, object>;
  return {
    ...tool,
    parameters: {
      ...tool.parameters,
      properties: { ...properties, agent_type: { ...properties.agent_type, enum: agents.map(({ name }) => name) } },
    },
  };
}

export const readAgentTool = serviceTool({
  name: "read_agent",
  description: readWords.trim(),
  input: ReadInput,
  readOnly: true,
});
export const writeAgentTool = serviceTool({
  name: "write_agent",
  description: writeWords.trim(),
  input: WriteInput,
  readOnly: false,
});
export const listAgentsTool = serviceTool({
  name: "list_agents",
  description: listWords.trim(),
  input: ListInput,
  readOnly: true,
});

function serviceTool<Input extends z.ZodType>(definition: {
  name: "task" | "read_agent" | "write_agent" | "list_agents";
  description: string;
  input: Input;
  readOnly: boolean;
}): Tool {
  return defineTool({
    ...definition,
    prepare: (args, { services }) => ({
      run: async () =>
        services.tasks
          ? await services.tasks.run(definition.name, args)
          : failure("Sub-agents are not available here."),
    }),
  });
}
