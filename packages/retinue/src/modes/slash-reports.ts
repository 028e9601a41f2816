/** The reports of slash commands on a session: short texts for people. */
import type { HostedSession } from "../host/hosted-session.ts";
import { usageMetrics } from "../host/usage.ts";

export function usageReport(target: HostedSession): string {
  const { codeChanges, totalApiDurationMs, totalUserRequests, modelMetrics } = usageMetrics(target).metrics;
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

export async function sessionReport({ session, store, main }: HostedSession): Promise<string> {
  const { id } = session;
  await session.log.committed();
  const record = await store.sessions.get(id);
  return lines("Session", [
    `Id: ${id}`,
    ...(record?.name ? [`Name: ${record.name}`] : []),
    `Mode: ${session.state.mode}`,
    `Model: ${main.model().id}`,
    `Working directory: ${session.place.workingDirectory}`,
    `Session folder: ${session.place.folder}`,
    `Events: ${session.log.count}`,
  ]);
}

export function tasksReport({ tasks }: HostedSession): string {
  const all = tasks.registry.records.list();
  return lines(
    "Tasks",
    all.map(({ name, agentType, status, id, alias = id }) => `${name} (${agentType}): ${status}, ${alias}`),
  );
}

export function agentsReport({ tree, session }: HostedSession): string {
  const { selectedAgent } = session.state;
  const agents = tree.configuration.agents
    .list()
    .map(({ name, description }) => `${name === selectedAgent ? "* " : ""}${name}: ${description}`);
  return lines("Agents", agents);
}

export function skillsReport({ tree }: HostedSession): string {
  return lines(
    "Skills",
    tree.configuration.skills
      .list()
      .map(({ name, description, enabled }) => `${name}${enabled ? "" : " (off)"}: ${description}`),
  );
}

export function directoriesReport({ tree }: HostedSession): string {
  return lines("Directories", [...tree.rules.policy.directories]);
}

export async function serversReport({ tree }: HostedSession): Promise<string> {
  const servers = await tree.servers.list();
  return lines(
    "MCP servers",
    servers.map(({ name, status, error }) => `${name}: ${status}${error ? ` (${error})` : ""}`),
  );
}

function lines(title: string, rows: readonly string[]): string {
  return [title, "", ...(rows.length > 0 ? rows : ["None."])].join("\n");
}
