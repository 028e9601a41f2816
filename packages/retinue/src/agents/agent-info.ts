/** An agent as `session.agent.*` shows it to clients. */
import type { AgentInfo, EventData } from "@retinue/protocol";
import type { AgentCatalog } from "./catalog.ts";
import type { AgentDefinition } from "./definition.ts";

/** Agents of the host are shown as the host gave them, without the fields that only files have. */
export function agentInfo(agent: AgentDefinition, options: { includePrompt?: boolean } = {}): AgentInfo {
  const [model] = agent.models;
  return {
    name: agent.name,
    id: agent.name,
    displayName: agent.displayName,
    description: agent.description,
    ...(agent.path !== undefined && { path: agent.path }),
    ...(agent.source !== "sdk" && {
      source: agent.source,
      userInvocable: agent.userInvocable,
      disableModelInvocation: !agent.infer,
    }),
    ...(agent.tools !== null && { tools: [...agent.tools] }),
    ...(model !== undefined && { model }),
    ...(agent.models.length > 1 && { models: [...agent.models], modelPolicy: agent.modelPolicy }),
    ...(Object.keys(agent.mcpServers).length > 0 && { mcpServers: { ...agent.mcpServers } }),
    ...(agent.skills.length > 0 && { skills: [...agent.skills] }),
    ...(options.includePrompt === true && { prompt: agent.prompt }),
  };
}

/** The data of `session.custom_agents_updated`. */
export function agentsUpdate(agents: AgentCatalog): EventData<"session.custom_agents_updated"> {
  const { errors, warnings } = agents.problems;
  return {
    agents: agents.custom().map(({ name, displayName, description, source, tools, userInvocable }) => ({
      id: name,
      name,
      displayName,
      description,
      source,
      tools: tools ? [...tools] : null,
      userInvocable,
    })),
    errors: [...errors],
    warnings: [...warnings],
  };
}
