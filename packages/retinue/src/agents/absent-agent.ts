/** What stands for an agent that was selected and is not there: it may do nothing, because nobody knows what the agent may do. */
import words from "./absent-agent.md";
import { type AgentDefinition, agentFromConfig } from "./definition.ts";

export const absentAgent = (name: string): AgentDefinition =>
  agentFromConfig({ name, prompt: words.trim(), tools: [] });
