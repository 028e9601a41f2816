/** The reports of slash commands on a session: short texts for people. */
import type { HostedSession } from "../host/hosted-session.ts";
import { listedSessions } from "../host/subconscious.ts";
import { usageMetrics } from "../host/usage.ts";
import { contextSize } from "../loop/context-size.ts";

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

const LISTED = 20;

/** The sessions that began where this one works, the latest first. */
export async function sessionsReport({ session, store }: HostedSession): Promise<string> {
  const { workingDirectory } = session.place;
  await session.log.committed();
  const all = (await listedSessions(store, { cwd: workingDirectory })).filter(({ parentId }) => parentId === undefined);
  const rows = all.slice(0, LISTED).map(({ id, name, summary, updatedAt }) => {
    const when = new Date(updatedAt).toISOString().slice(0, 16).replace("T", " ");
    return `${id === session.id ? "* " : ""}${id.slice(0, 8)}  ${when}  ${name ?? summary ?? "without a name"}`;
  });
  const more = all.length > LISTED ? [`and ${all.length - LISTED} more`] : [];
  return lines(`Sessions of ${workingDirectory}`, [...rows, ...more]);
}

const BAR = 40;

/** In tokens, as far as they can be known before the endpoint counts them. */
export async function contextReport({ main }: HostedSession): Promise<string> {
  const toolset = await main.kit.tools();
  const system = main.session.state.systemPrompt ?? (await main.kit.systemPrompt(toolset));
  const size = contextSize(main, { system, toolset });
  const { tokenLimit, currentTokens, systemTokens, conversationTokens, toolDefinitionsTokens } = size;
  const { startAt } = main.settings.compaction;
  const row = (what: string, tokens: number) =>
    `${what.padEnd(14)} ${`${tokens}`.padStart(9)}  ${percent(tokens, tokenLimit)}`;
  const filled = Math.min(BAR, Math.round((BAR * currentTokens) / Math.max(1, tokenLimit)));
  return lines(`Context of ${main.model().id}`, [
    `[${"#".repeat(filled)}${".".repeat(BAR - filled)}] about ${currentTokens} of ${tokenLimit} tokens`,
    "",
    row("System prompt", systemTokens),
    row("Tools", toolDefinitionsTokens),
    row("Conversation", conversationTokens),
    row("Free", Math.max(0, tokenLimit - currentTokens)),
    "",
    main.settings.compaction.enabled
      ? `At ${Math.round(startAt * 100)} % the conversation becomes a summary. /compact does it now.`
      : "The conversation is not summed up by itself. /compact does it.",
  ]);
}

const percent = (part: number, all: number): string => `${Math.round((100 * part) / Math.max(1, all))} %`.padStart(5);

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
