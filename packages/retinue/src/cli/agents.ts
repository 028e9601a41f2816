/** `retinue agents list` and `show`: the agents that a session in this folder would have, found by the same code. */
import { AppError, visible, visibleText } from "@retinue/protocol";
import { agentInfo } from "../agents/agent-info.ts";
import { AgentCatalog, agentFolders } from "../agents/catalog.ts";
import type { AgentDefinition } from "../agents/definition.ts";
import { RemoteAgentCatalog } from "../host/agent-catalog.ts";
import { readModelsConfig } from "../models/config.ts";
import { nearest } from "../nearest.ts";
import { readInstalledSet } from "../plugins/plugin-set.ts";
import { ProjectGate } from "../project/gate.ts";
import { leftOutLine } from "../workspace/left-out.ts";
import { serverLineWithoutValues, surveyProject } from "../workspace/survey.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import { openOwnRuntime } from "./own-runtime.ts";
import { trustOf } from "./trust.ts";

interface Found {
  catalog: AgentCatalog;
  /** What of the project is not there because nobody trusts it. */
  leftOut: string | undefined;
}

async function findAgents(flags: Pick<CommonFlags, "home">, context: CliContext): Promise<Found> {
  await using own = openOwnRuntime({ env: context.env, home: flags.home });
  const { home } = own.runtime.config;
  const gate = new ProjectGate(context.cwd, trustOf(own, context));
  await gate.refresh();
  const project = gate.isTrusted ? gate : undefined;
  const { agents: plugins } = readInstalledSet(home);
  const folders = agentFolders({ home, enableConfigDiscovery: true, project, plugins });
  const catalog = new RemoteAgentCatalog({
    home,
    env: context.env,
    settings: () => readModelsConfig(home).agentCatalog,
    now: Date.now,
  });
  const remote = await catalog.refresh();
  const leftOut = gate.isTrusted ? undefined : leftOutLine(surveyProject(gate, home), gate);
  return { catalog: new AgentCatalog({ folders, remote }), leftOut };
}

export async function listAgents(flags: CommonFlags, context: CliContext): Promise<void> {
  const { terminal } = context;
  const { catalog, leftOut } = await findAgents(flags, context);
  const { errors, warnings, notes } = catalog.problems;
  if (flags.json) {
    const agents = catalog.list().map((agent) => ({ ...shown(agent), hides: (agent.hides ?? []).map(placeOf) }));
    terminal.out(`${JSON.stringify({ agents, errors, warnings, notes, leftOut }, null, 2)}\n`);
    return;
  }
  const own = [...catalog.custom(), ...catalog.list().filter(({ source }) => source === "builtin")];
  for (const agent of own) terminal.out(visibleText(`${linesOf(agent).join("\n")}\n`));
  const problems = [...(leftOut ? [leftOut] : []), ...errors, ...warnings, ...notes];
  if (problems.length > 0) terminal.out("\nLeft out, or other than the files say:\n");
  for (const problem of problems) terminal.out(`  ${problem}\n`);
}

export async function showAgent(name: string, flags: CommonFlags, context: CliContext): Promise<void> {
  const { terminal } = context;
  const { catalog, leftOut } = await findAgents(flags, context);
  const agent = catalog.find(name);
  if (!agent) {
    const meant = nearest(name, catalog.names());
    const hint = meant === undefined ? `There are: ${catalog.names().join(", ")}` : `Did you mean ${meant}?`;
    throw new AppError(
      "agent_not_found",
      [`There is no agent ${visible(name)}. ${hint}`, leftOut ?? []].flat().join("\n"),
    );
  }
  if (flags.json) return terminal.out(`${JSON.stringify({ ...shown(agent), prompt: agent.prompt }, null, 2)}\n`);
  terminal.out(visibleText(`${[...linesOf(agent), ...more(agent), "", agent.prompt].join("\n")}\n`));
}

function shown(agent: AgentDefinition): Record<string, unknown> {
  const { ceiling, budget, inherit, infer, plugin, github, readOnly } = agent;
  const { modelClass, reasoningEffort, nestedBackground, isolation, gates, maxGateFailures, schema } = agent;
  return {
    ...agentInfo(agent),
    ...{ infer, ceiling, budget, inherit, readOnly, plugin, github },
    ...{ modelClass, reasoningEffort, nestedBackground, isolation, gates, maxGateFailures, schema },
  };
}

/** What a list has no room for, in the words of a file, and only what is not as usual. */
function more(agent: AgentDefinition): string[] {
  const { inherit, models, mcpServers } = agent;
  const fields: [string, unknown][] = [
    ["display-name", agent.displayName === agent.name ? undefined : agent.displayName],
    ["model-policy", models.length > 0 && agent.modelPolicy === "required" ? "required" : undefined],
    ["model-class", agent.modelClass === "session" ? undefined : agent.modelClass],
    ["reasoning-effort", agent.reasoningEffort],
    ...Object.entries(mcpServers).map(([name, server]): [string, unknown] => [
      `server ${name}`,
      serverLineWithoutValues(server),
    ]),
    ["nested-background", agent.nestedBackground || undefined],
    ["isolation", agent.isolation],
    ["inherit", inherit === "brief" ? undefined : typeof inherit === "object" ? `tail(${inherit.tail})` : inherit],
    ...agent.gates.map((gate): [string, unknown] => ["gate", gate]),
    ["max-gate-failures", agent.maxGateFailures],
    ["schema", agent.schema],
    ["read-only", agent.readOnly || undefined],
    ["github", agent.github],
  ];
  return fields.flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`],
  );
}

/** Name and origin, what it is for, what it may do, what it hides. */
function linesOf(agent: AgentDefinition): string[] {
  const { name, source, plugin, description, hides = [] } = agent;
  const from = [source, plugin, agent.path].filter((each) => each !== undefined).join("  ");
  return [
    `${name}  (${from})`,
    `  ${oneLine(description)}`,
    `  ${abilities(agent).join("; ")}`,
    ...hides.map((each) => `  hides ${placeOf(each)}`),
  ];
}

function abilities({
  tools,
  mcpServers,
  skills,
  models,
  infer,
  userInvocable,
  ceiling,
  budget,
}: AgentDefinition): string[] {
  const names = (what: string, all: readonly string[]) => (all.length > 0 ? [`${what}: ${all.join(", ")}`] : []);
  return [
    tools === null ? "every tool" : tools.length === 0 ? "no tools" : `tools: ${tools.join(", ")}`,
    ...names("servers", Object.keys(mcpServers)),
    ...names("skills", skills),
    ...names("model", models),
    ...(infer ? [] : ["started only when a prompt names it"]),
    ...(userInvocable ? [] : ["cannot be selected, only started by other agents"]),
    ...(ceiling === "own" ? ["its tools bound the agents below it"] : []),
    ...names(
      "budget",
      Object.entries(budget).map(([limit, value]) => `${limit} ${value}`),
    ),
  ];
}

const placeOf = ({ source, path }: AgentDefinition): string => path ?? `the ${source} agent of this name`;

const MAX_LINE = 160;

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= MAX_LINE ? line : `${line.slice(0, MAX_LINE - 1)}…`;
}
