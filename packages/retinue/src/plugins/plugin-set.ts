/** What all plugins of a session bring together. */
import { messageOf, visible } from "@retinue/protocol";
import type { AgentFolder } from "../agents/agent-files.ts";
import type { PluginHooks } from "../hooks/hook-places.ts";
import type { ConfiguredServer } from "../mcp/configured-servers.ts";
import type { SkillFolder } from "../skills/catalog.ts";
import { installedPlugins } from "./installed.ts";
import { type Plugin, readPlugin } from "./manifest.ts";
import { type PluginCommand, readCommands } from "./plugin-commands.ts";

export interface PluginSet {
  plugins: readonly (Plugin & { isEnabled: boolean })[];
  agents: readonly AgentFolder[];
  skills: readonly SkillFolder[];
  hooks: readonly PluginHooks[];
  servers: readonly ConfiguredServer[];
  commands: readonly PluginCommand[];
  problems: readonly string[];
}

export interface PluginPlaces {
  home: string;
  /** Folders that the host names. */
  directories: readonly string[];
  /** The installed ones count too. */
  isDiscovering: boolean;
}

export function readPluginSet({ home, directories, isDiscovering }: PluginPlaces): PluginSet {
  const installed = isDiscovering ? installedPlugins(home) : { plugins: [], problems: [] };
  const problems = [...installed.problems];
  const named = directories.flatMap((folder) => {
    try {
      return [{ ...readPlugin(folder), isEnabled: true }];
    } catch (error) {
      problems.push(visible(messageOf(error)));
      return [];
    }
  });
  const others = installed.plugins.filter(({ name }) => !named.some((each) => each.name === name));
  return setOf([...firstOfEach(named, problems), ...firstOfEach(others, problems)], problems);
}

/** Of whoever asks without a session. */
export const readInstalledSet = (home: string): PluginSet =>
  readPluginSet({ home, directories: [], isDiscovering: true });

/** Their parts could not be told apart, nor which of them is switched off. */
function firstOfEach<Each extends Plugin>(plugins: readonly Each[], problems: string[]): Each[] {
  const first = new Map<string, Each>();
  for (const plugin of plugins) {
    const other = first.get(plugin.name);
    if (other && other.root !== plugin.root)
      problems.push(visible(`${plugin.root}: ${other.root} is a plugin ${plugin.name} too, and only that one counts`));
    else first.set(plugin.name, other ?? plugin);
  }
  return [...first.values()];
}

function setOf(plugins: PluginSet["plugins"], problems: string[]): PluginSet {
  const on = plugins.filter(({ isEnabled }) => isEnabled);
  const commands = on.flatMap((plugin) => readCommands(plugin, problems));
  for (const plugin of on) problems.push(...plugin.problems);
  return {
    plugins,
    agents: [...on].reverse().flatMap((plugin) => agentFoldersOf(plugin)), // The last one is the strongest there.
    skills: on.flatMap((plugin) => skillFoldersOf(plugin)),
    hooks: on.map(({ hooks }) => hooks).filter(({ files, inline }) => files.length > 0 || inline !== undefined),
    servers: serversOf(on),
    commands,
    problems,
  };
}

export const agentFoldersOf = ({ agents, root, name }: Plugin): AgentFolder[] =>
  agents.map((path) => ({ source: "plugin", path, within: root, plugin: name }));

export const skillFoldersOf = ({ skills, root, name }: Plugin): SkillFolder[] =>
  skills.map((path) => ({ source: "plugin", path, within: root, plugin: name }));

/** Of two plugins that name a server alike, the second one's is called after its plugin. */
function serversOf(plugins: readonly Plugin[]): ConfiguredServer[] {
  const taken = new Set<string>();
  return plugins.flatMap(({ name: plugin, version, servers }) =>
    Object.entries(servers).map(([own, config]): ConfiguredServer => {
      const name = taken.has(own) ? `${plugin}-${own}` : own;
      taken.add(name);
      return { name, config, source: "plugin", from: `the plugin ${plugin}`, plugin: { name: plugin, version } };
    }),
  );
}
