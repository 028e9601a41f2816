/**
 * Agents as an HTTP endpoint gives them: as agent files, or as a program would give them.
 *
 * They are words of somebody else. What could start something, or pass for a tool of the host, is taken away.
 */
import { CustomAgentConfig, lazy, visible } from "@retinue/protocol";
import * as z from "zod";
import { type AgentDefinition, agentFromConfig, agentFromFile } from "./definition.ts";
import { ownNames } from "./foreign-tools.ts";
import { mistakesOf } from "./front-matter.ts";
import { checkAgentFields } from "./unknown-keys.ts";

export interface RemoteAgents {
  agents: readonly AgentDefinition[];
  problems: readonly string[];
}

export const NO_REMOTE_AGENTS: RemoteAgents = { agents: [], problems: [] };

const MAX_AGENTS = 200;

const asFile = lazy(() => z.object({ file: z.string(), text: z.string().max(256 * 1024) }));
const asConfig = lazy(() => CustomAgentConfig().extend({ userInvocable: z.boolean().optional() }));
const answer = lazy(() => z.union([z.array(z.unknown()), z.object({ agents: z.array(z.unknown()) })]));

/** Throws when the whole answer has another form. One definition that is wrong is a problem, and the others count. */
export function remoteAgents(
  body: unknown,
  { url, allowServers }: { url: string; allowServers: boolean },
): RemoteAgents {
  const parsed = answer().safeParse(body);
  if (!parsed.success) throw new Error("its answer is no list of agents");
  const all = Array.isArray(parsed.data) ? parsed.data : parsed.data.agents;
  const problems: string[] = [];
  const warn = (message: string) => problems.push(visible(message));
  if (all.length > MAX_AGENTS) warn(`${url}: only the first ${MAX_AGENTS} of ${all.length} agents count`);
  const agents = all.slice(0, MAX_AGENTS).flatMap((each, at): AgentDefinition[] => {
    try {
      const agent = definitionOf(each, { url, at, warn });
      if (allowServers || Object.keys(agent.mcpServers).length === 0) return [agent];
      warn(`${url}: the agent ${agent.name} has MCP servers, which do not start: agentCatalog.allowServers is not set`);
      return [{ ...agent, mcpServers: {} }];
    } catch (error) {
      for (const mistake of mistakesOf(error)) warn(`${url}: agent ${at + 1} is left out: ${mistake}`);
      return [];
    }
  });
  return { agents, problems };
}

function definitionOf(
  given: unknown,
  { url, at, warn }: { url: string; at: number; warn(message: string): void },
): AgentDefinition {
  const file = asFile().safeParse(given);
  if (file.success) return agentFromFile(file.data.text, { source: "remote", path: file.data.file, warn });
  const { data: config, error } = asConfig().safeParse(given);
  if (!config)
    throw new Error(error.issues.map(({ path, message }) => `${path.join(".") || "it"}: ${message}`).join("; "));
  checkAgentFields({ customAgents: [config] });
  if (config.name.trim() === "") throw new Error("it has no name");
  const complain = (words: string) => warn(`${url}: agent ${at + 1}: ${words}`);
  return {
    ...agentFromConfig(config),
    tools: config.tools ? config.tools.flatMap((name) => ownNames(name, complain)) : null,
    toolDefinitions: [],
    userInvocable: config.userInvocable ?? true,
    source: "remote",
  };
}
