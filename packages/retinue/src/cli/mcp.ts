/** `retinue mcp list|add|remove|test`. */
import { messageOf, visible } from "@retinue/protocol";
import { type Inspection, inspectServer, type Offered } from "../mcp/inspect.ts";
import { signInAtHome } from "../mcp/oauth/sign-in-at-home.ts";
import { UserServers } from "../mcp/user-servers.ts";
import { withVariables } from "../mcp/variables.ts";
import { didYouMean } from "../nearest.ts";
import { readInstalledSet } from "../plugins/plugin-set.ts";
import { ProcessLedger } from "../processes/process-ledger.ts";
import { brief, shellWord } from "../project/shown.ts";
import { type KnownServer, type KnownServers, knownServers } from "../workspace/known-servers.ts";
import { serverLineWithoutValues } from "../workspace/survey.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import { type OwnRuntime, openOwnRuntime } from "./own-runtime.ts";
import { UsageError } from "./usage-error.ts";

export async function listServers(flags: CommonFlags, context: CliContext): Promise<void> {
  await using own = openOwnRuntime({ env: context.env, home: flags.home });
  const { servers, problems } = await knownHere(own, context);
  const { terminal } = context;
  for (const problem of problems) terminal.note(`retinue: ${problem}`);
  if (flags.json) return terminal.out(`${JSON.stringify(servers.map(asJson), null, 2)}\n`);
  if (servers.length === 0) return terminal.out("No MCP server is configured. To add one: retinue mcp add --help\n");
  const width = Math.max(...servers.map(({ name }) => name.length));
  for (const server of servers)
    terminal.out(
      `${server.name.padEnd(width)}  ${STATE_WORDS[server.state].padEnd(11)}  ${server.from}  ${serverLineWithoutValues(server.config)}\n`,
    );
  for (const { name, config } of servers.filter(({ state }) => state === "on")) {
    const problem = variableProblem(config, context);
    if (problem !== undefined) terminal.note(`retinue: ${visible(name)} would be left out of a session: ${problem}`);
  }
  if (servers.some(({ state }) => state === "unallowed"))
    terminal.note(`To look at what is not allowed and allow it: retinue trust add ${shellWord(context.cwd)}`);
}

export async function addServer(
  name: string,
  config: Readonly<Record<string, unknown>>,
  flags: CommonFlags,
  { env, terminal }: CliContext,
): Promise<void> {
  await using own = openOwnRuntime({ env, home: flags.home });
  const servers = new UserServers(own.runtime.config.home);
  await servers.add(name, config);
  if (flags.json) return terminal.out(`${JSON.stringify({ name, config, file: servers.path }, null, 2)}\n`);
  terminal.out(`Added ${visible(name)} to ${servers.path}. To try it: retinue mcp test ${shellWord(name)}\n`);
}

export async function removeServer(name: string, flags: CommonFlags, { env, terminal }: CliContext): Promise<void> {
  await using own = openOwnRuntime({ env, home: flags.home });
  const servers = new UserServers(own.runtime.config.home);
  await servers.remove(name);
  if (flags.json) return terminal.out(`${JSON.stringify({ name, removed: true }, null, 2)}\n`);
  terminal.out(`Removed ${visible(name)} from ${servers.path}.\n`);
}

/** Resolves with the exit code. */
export async function testServers(named: string | undefined, flags: CommonFlags, context: CliContext): Promise<number> {
  const { terminal } = context;
  await using own = openOwnRuntime({ env: context.env, home: flags.home });
  const { servers, problems } = await knownHere(own, context);
  for (const problem of problems) terminal.note(`retinue: ${problem}`);
  const chosen =
    named === undefined ? servers.filter(({ state }) => state === "on") : [findServer(named, servers, context)];
  if (chosen.length === 0) {
    terminal.note("retinue: there is no MCP server to test. To see what is configured: retinue mcp list");
    return 1;
  }
  const found: Inspection[] = [];
  for (const server of chosen) {
    const inspection = await inspect(server, own, context);
    found.push(inspection);
    if (!flags.json) terminal.out(`${inspectionLines(inspection).join("\n")}\n`);
  }
  if (flags.json) terminal.out(`${JSON.stringify(named === undefined ? found : found[0], null, 2)}\n`);
  return found.every(({ status }) => status === "connected") ? 0 : 1;
}

export function knownHere({ runtime }: OwnRuntime, { cwd }: CliContext): Promise<KnownServers> {
  const { home } = runtime.config;
  const { servers: plugins } = readInstalledSet(home);
  return knownServers({ folder: cwd, home, documents: runtime.sessions.store.documents, plugins });
}

export function findServer(name: string, servers: readonly KnownServer[], { cwd }: CliContext): KnownServer {
  const found = servers.find((server) => server.name === name);
  const names = servers.map((server) => server.name);
  if (!found)
    throw new UsageError(
      `there is no MCP server ${visible(name)}${didYouMean(name, names) || ". See: retinue mcp list"}`,
    );
  if (found.state !== "unallowed") return found;
  throw new UsageError(
    `nobody has allowed ${visible(name)} of ${found.from}. To look at it and allow it: retinue trust add ${shellWord(cwd)}`,
  );
}

async function inspect(
  { name, config }: KnownServer,
  { runtime }: OwnRuntime,
  { cwd, env }: CliContext,
): Promise<Inspection> {
  const { version, serverStartMs, home } = runtime.config;
  return await inspectServer(name, () => withVariables(config, { env, workspaceFolder: cwd }), {
    workingDirectory: cwd,
    clientVersion: version,
    processes: new ProcessLedger(runtime.sessions.store),
    startLimitMs: serverStartMs,
    signIn: (named, reached) => signInAtHome(home, named, reached),
  });
}

/** A server whose variable has no value may start, but cannot. */
function variableProblem(config: KnownServer["config"], { env, cwd }: CliContext): string | undefined {
  try {
    withVariables(config, { env, workspaceFolder: cwd });
    return undefined;
  } catch (error) {
    return visible(messageOf(error));
  }
}

const STATE_WORDS = { on: "on", off: "off", unallowed: "not allowed" } as const;

const asJson = (server: KnownServer) => ({
  name: server.name,
  source: server.source,
  from: server.from,
  state: server.state,
  line: serverLineWithoutValues(server.config),
});

function inspectionLines({ name, status, error, server, ...found }: Inspection): string[] {
  const { tools, resources, prompts, tasks = [], tasksProblem } = found;
  const itself = server ? ` (${visible(server.name)} ${visible(server.version)})` : "";
  return [
    `${name}: ${status}${itself}${error === undefined ? "" : `: ${visible(error)}`}`,
    ...offers("tools", tools),
    ...offers("resources", resources),
    ...offers("prompts", prompts),
    ...offers("tasks", tasks),
    ...(tasksProblem === undefined ? [] : [`  its tasks are not all here: ${brief(tasksProblem, MAX_ABOUT)}`]),
  ];
}

const MAX_ABOUT = 120;

function offers(what: string, all: readonly Offered[]): string[] {
  if (all.length === 0) return [];
  const line = ({ name, description = "" }: Offered) =>
    `    ${visible(name)}${description === "" ? "" : `: ${brief(description.trim().split("\n", 1)[0] ?? "", MAX_ABOUT)}`}`;
  return [`  ${what}`, ...all.map(line)];
}
