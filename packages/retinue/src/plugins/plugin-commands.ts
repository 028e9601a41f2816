/** Slash commands of plugins. What a file of a command is, is in skills/command-file.ts. */
import { type FileCommand, readCommandFiles } from "../skills/command-file.ts";
import type { Plugin } from "./manifest.ts";

export interface PluginCommand extends FileCommand {
  plugin: string;
}

export function readCommands({ name: plugin, root, commands }: Plugin, problems: string[]): PluginCommand[] {
  const options = { within: root, owner: `plugin ${plugin}`, problems };
  return commands.flatMap((path) => readCommandFiles(path, options)).map((command) => ({ ...command, plugin }));
}
