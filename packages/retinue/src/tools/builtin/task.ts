/**
 * The tools by which an agent leads others: `task`, `read_agent`, `write_agent`, `list_agents`.
 *
 * Owns their parameters and words. The work is done by the session's task service, so that tools never import tasks.
 */
import type * as z from "zod";
import { ListInput, ReadInput, TaskInput, WriteInput } from "../task-input.ts";
import { defineTool, failure, type Outcome, type TaskService, type Tool } from "../tool.ts";
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

/** The list of agents is made from the live catalog each time. */
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
    call: (tasks, input) => tasks.task(input),
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
  call: (tasks, input) => tasks.read_agent(input),
});
export const writeAgentTool = serviceTool({
  name: "write_agent",
  description: writeWords.trim(),
  input: WriteInput,
  readOnly: false,
  call: (tasks, input) => tasks.write_agent(input),
});
export const listAgentsTool = serviceTool({
  name: "list_agents",
  description: listWords.trim(),
  input: ListInput,
  readOnly: true,
  call: (tasks, input) => tasks.list_agents(input),
});

function serviceTool<Input extends z.ZodType>(definition: {
  name: keyof TaskService;
  description: string;
  input(): Input;
  readOnly: boolean;
  call(tasks: TaskService, input: z.output<Input>): Promise<Outcome>;
}): Tool {
  const { call, ...described } = definition;
  return defineTool({
    ...described,
    prepare: (input, { services: { tasks } }) => ({
      run: async () => (tasks ? await call(tasks, input) : failure("Sub-agents are not available here.")),
    }),
  });
}
