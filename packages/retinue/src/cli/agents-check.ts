/** `retinue agents check`: every mistake in agent files, with its file and line. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { visible } from "@retinue/protocol";
import type { AgentFolder } from "../agents/agent-files.ts";
import { AgentCatalog, agentFolders } from "../agents/catalog.ts";
import type { KnownNames } from "../agents/definition.ts";
import { homeFolder } from "../host/home.ts";
import { readInstalledSet } from "../plugins/plugin-set.ts";
import { projectRootOf } from "../project/root.ts";
import { SkillCatalog, skillFolders } from "../skills/catalog.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import { UsageError } from "./usage-error.ts";
import { knownTools } from "./why-tool.ts";

/** Resolves with the exit code: 1 when there is a mistake. */
export function checkAgents(named: readonly string[], flags: CommonFlags, context: CliContext): number {
  const { terminal, cwd, env } = context;
  const home = homeFolder(env, flags.home);
  const project = { folder: cwd, root: projectRootOf(cwd) };
  const known = knownNames(home, project);
  const wanted = named.map((name) => resolve(cwd, name));
  const folders = wanted.length > 0 ? foldersOf(wanted) : agentFolders({ home, project });
  const catalog = new AgentCatalog({ folders, known });
  const all = [...catalog.problems.errors, ...catalog.problems.warnings];
  const checked = catalog.custom().flatMap((agent) => [agent, ...(agent.hides ?? [])]);
  if (flags.json)
    terminal.out(`${JSON.stringify({ mistakes: all, agents: checked.map(({ name }) => name) }, null, 2)}\n`);
  else
    for (const line of all.length > 0 ? all : [`No mistakes in ${counted(checked.filter(({ path }) => path).length)}.`])
      terminal.out(`${line}\n`);
  return all.length > 0 ? 1 : 0;
}

const counted = (count: number): string => `${count} agent file${count === 1 ? "" : "s"}`;

function knownNames(home: string, project: { folder: string; root: string }): KnownNames {
  const { skills: plugins } = readInstalledSet(home);
  const folders = skillFolders({
    home,
    workingDirectory: project.folder,
    enableConfigDiscovery: true,
    project,
    plugins,
  });
  const tools = knownTools({ limits: {}, events: [], servers: [] }).map(({ name }) => name);
  return { tools, skills: new SkillCatalog({ folders }).list().map(({ name }) => name) };
}

function foldersOf(wanted: readonly string[]): AgentFolder[] {
  const missing = wanted.find((name) => !existsSync(name));
  if (missing !== undefined) throw new UsageError(`agents check: there is no ${visible(missing)}`);
  return [...new Set(wanted)].map((path) => ({ source: "user", path }));
}
