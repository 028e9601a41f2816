/** `retinue plugins`: shows, adds and removes the plugins of the home folder. */
import { join } from "node:path";
import { visible } from "@retinue/protocol";
import { AgentCatalog } from "../agents/catalog.ts";
import { hookLine } from "../hooks/file-hook.ts";
import { hookPlaces } from "../hooks/hook-places.ts";
import { readHooks } from "../hooks/hook-reader.ts";
import { homeFolder } from "../host/home.ts";
import { didYouMean } from "../nearest.ts";
import { installPlugin, removePlugin } from "../plugins/install.ts";
import { installedPlugins, pluginsFolder } from "../plugins/installed.ts";
import type { Plugin } from "../plugins/manifest.ts";
import { readCommands } from "../plugins/plugin-commands.ts";
import { agentFoldersOf, skillFoldersOf } from "../plugins/plugin-set.ts";
import { SkillCatalog } from "../skills/catalog.ts";
import { serverLine } from "../workspace/survey.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import { UsageError } from "./usage-error.ts";

/** Resolves with the exit code. */
export async function listPlugins(flags: CommonFlags, { terminal, env }: CliContext): Promise<number> {
  const { plugins, problems } = installedPlugins(homeFolder(env, flags.home));
  const all = [...problems, ...plugins.flatMap((plugin) => plugin.problems)];
  if (flags.json) terminal.out(`${JSON.stringify({ plugins, problems: all }, null, 2)}\n`);
  else {
    if (plugins.length === 0) terminal.out("No plugin is installed. To add one: retinue plugins add <source>\n");
    for (const plugin of plugins) {
      const state = plugin.isEnabled ? "" : " (switched off)";
      terminal.out(`${[`${titleOf(plugin)}${state}`, ...contentOf(plugin)].join("\n")}\n`);
    }
    for (const problem of all) terminal.note(`! ${problem}`);
  }
  return all.length === 0 ? 0 : 1;
}

export async function addPlugin(
  source: string,
  flags: CommonFlags & { yes: boolean },
  { terminal, env, cwd }: CliContext,
): Promise<number> {
  const home = homeFolder(env, flags.home);
  const confirm = async (plugin: Plugin): Promise<boolean> => {
    const lines = [`${titleOf(plugin)} brings:`, ...contentOf(plugin)];
    const place = join(pluginsFolder(home), plugin.name); // Where it will be, not where it is looked at.
    if (!flags.json) for (const line of lines) terminal.note(line.replaceAll(plugin.root, () => place));
    if (flags.yes || programsOf(plugin).length === 0) return true;
    if (!terminal.canAsk)
      throw new UsageError("plugins add: it brings programs that will run. To install it without being asked: --yes");
    return /^y(es)?$/i.test((await terminal.ask("Install it? [y = yes, n = no, then Enter] ")) ?? "");
  };
  const done = await installPlugin(source, { home, cwd, confirm });
  if (!done) {
    terminal.note("Nothing was installed.");
    return 1;
  }
  const { plugin, leftOut } = done;
  if (flags.json) terminal.out(`${JSON.stringify(plugin, null, 2)}\n`);
  else terminal.out(`${titleOf(plugin)} is installed.\n`);
  if (leftOut > 0) terminal.note(`! ${leftOut} links or other special files of it were left out.`);
  for (const problem of plugin.problems) terminal.note(`! ${problem}`);
  return 0;
}

export async function removeNamed(name: string, flags: CommonFlags, { terminal, env }: CliContext): Promise<number> {
  const home = homeFolder(env, flags.home);
  const names = installedPlugins(home).plugins.map((plugin) => plugin.name);
  const removed = removePlugin(home, name);
  if (flags.json) terminal.out(`${JSON.stringify({ name, removed }, null, 2)}\n`);
  else if (removed) terminal.out(`${visible(name)} is removed.\n`);
  else terminal.note(`retinue: there is no plugin ${visible(name)}${didYouMean(name, names)}`);
  return removed ? 0 : 1;
}

const titleOf = ({ name, version }: Plugin): string => visible(version === undefined ? name : `${name} ${version}`);

/** Command lines are never cut: what is hidden cannot be judged. */
function contentOf(plugin: Plugin): string[] {
  const named = (what: string, names: readonly string[]) =>
    names.length > 0 ? [`  ${what}: ${names.map(visible).join(", ")}`] : [];
  return [
    ...named(
      "agents",
      new AgentCatalog({ folders: agentFoldersOf(plugin) }).custom().map(({ name }) => name),
    ),
    ...named(
      "skills",
      new SkillCatalog({ folders: skillFoldersOf(plugin) }).list().map(({ name }) => name),
    ),
    ...named(
      "commands",
      readCommands(plugin, []).map(({ name }) => `/${name}`),
    ),
    ...programsOf(plugin),
  ];
}

function programsOf({ hooks, servers, root }: Plugin): string[] {
  const places = hookPlaces({ home: root, userFolder: undefined, project: { folder: root, root }, plugins: [hooks] });
  const found = readHooks(
    places.filter(({ origin }) => origin === "plugin"),
    { isTrusted: false, mayStart: () => false },
  );
  return [
    ...found.hooks.map(({ hook }) => `  hook ${hookLine(hook)}`),
    ...Object.entries(servers).map(([name, config]) => `  MCP server ${visible(name)}: ${serverLine(config)}`),
    ...found.problems.map((problem) => `  note: ${problem}`),
  ];
}
