/** What slash commands tell about a session, as short texts for a person. */
import type { HostedSession } from "../host/hosted-session.ts";
import { usageMetrics } from "../host/usage.ts";

export function usageReport({ tree }: HostedSession): string {
  const { codeChanges, totalApiDurationMs, totalUserRequests, modelMetrics } = usageMetrics(tree).metrics;
  const models = Object.entries(modelMetrics).map(([model, { requests, usage }]) => {
    const { inputTokens, outputTokens, cacheReadTokens } = usage;
    return `${model}: ${requests.count} requests, ${inputTokens} tokens in (${cacheReadTokens} cached), ${outputTokens} out`;
  });
  return lines("Session usage", [
    `Prompts: ${totalUserRequests}`,
    `Model time: ${Math.round(totalApiDurationMs / 1000)} s`,
    `Changes: +${codeChanges.linesAdded} -${codeChanges.linesRemoved}`,
    ...models,
  ]);
}

export async function sessionReport({ id, session, tree }: HostedSession): Promise<string> {
  await session.log.committed();
  const record = await tree.store.sessions.get(id);
  return lines("Session", [
    `Id: ${id}`,
    ...(record?.name ? [`Name: ${record.name}`] : []),
    `Mode: ${session.state.mode}`,
    `Model: ${tree.main.model().id}`,
    `Working directory: ${session.place.workingDirectory}`,
    `Session folder: ${session.place.folder}`,
    `Events: ${session.log.count}`,
  ]);
}

export function tasksReport({ tree, shells }: HostedSession): string {
  const agents = tree.tasks.records.map(
    ({ name, agentType, status, id }) => `${name} (${agentType}): ${status}, ${id}`,
  );
  const running = shells.list().map(({ id, description, status }) => `shell ${id} (${description}): ${status}`);
  const clients = tree.clientTasks.list.map(({ description, status }) => `${description}: ${status}`);
  return lines("Tasks", [...agents, ...running, ...clients]);
}

export function agentsReport({ tree, session }: HostedSession): string {
  const { selectedAgent } = session.state;
  const agents = tree.agents
    .list()
    .map(({ name, description }) => `${name === selectedAgent ? "* " : ""}${name}: ${description}`);
  return lines("Agents", agents);
}

export function skillsReport({ tree }: HostedSession): string {
  return lines(
    "Skills",
    tree.skills.list().map(({ name, description, enabled }) => `${name}${enabled ? "" : " (off)"}: ${description}`),
  );
}

export function directoriesReport({ tree }: HostedSession): string {
  return lines("Directories", [...tree.rules.directories]);
}

export async function serversReport({ tree }: HostedSession): Promise<string> {
  const hasServers = Object.keys(tree.config.mcpServers ?? {}).length > 0;
  const servers = hasServers ? (await tree.mcpHost()).list() : [];
  return lines(
    "MCP servers",
    servers.map(({ name, status, error }) => `${name}: ${status}${error ? ` (${error})` : ""}`),
  );
}

function lines(title: string, rows: readonly string[]): string {
  return [title, "", ...(rows.length > 0 ? rows : ["None."])].join("\n");
}
