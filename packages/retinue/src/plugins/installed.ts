/** The plugins in the home folder: a folder each, and one file that says where they came from and which are switched off. */
import { type Dirent, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { lazy, messageOf, visible } from "@retinue/protocol";
import * as z from "zod";
import { readWholeTextFile } from "../project/text-file.ts";
import { makePrivateFolder, writePrivateFile } from "../store/private-files.ts";
import { settleCutOff } from "./cut-off-install.ts";
import { type Plugin, readPlugin } from "./manifest.ts";

export interface InstalledPlugin extends Plugin {
  isEnabled: boolean;
  /** As it was given, a path from the root; undefined for a folder that somebody has put there. */
  source?: string;
}

export const pluginsFolder = (home: string): string => join(home, "plugins");
const recordFile = (home: string): string => join(home, "plugins.json");

const PluginRecords = lazy(() =>
  z.object({
    version: z.literal(1),
    plugins: z.record(z.string(), z.object({ source: z.string(), installedAt: z.string() })),
    disabled: z.array(z.string()),
  }),
);
type PluginRecords = z.output<ReturnType<typeof PluginRecords>>;

const MAX_PLUGINS = 100;

/** Those that cannot be read are a problem each. */
export function installedPlugins(home: string): { plugins: InstalledPlugin[]; problems: string[] } {
  settleCutOff(pluginsFolder(home));
  const names = folderNames(pluginsFolder(home));
  const problems = linkNames(pluginsFolder(home)).map((name) =>
    visible(
      `${join(pluginsFolder(home), name)} is a link, so it does not count. Add it with retinue plugins add, or name it with --plugin-dir.`,
    ),
  );
  if (names.length === 0) return { plugins: [], problems };
  const records = readable(home, problems);
  if (names.length > MAX_PLUGINS) problems.push(`only the first ${MAX_PLUGINS} of ${names.length} plugins are read`);
  const plugins = names.slice(0, MAX_PLUGINS).flatMap((name) => {
    try {
      const plugin = readPlugin(join(pluginsFolder(home), name));
      return [
        { ...plugin, isEnabled: !records.disabled.includes(plugin.name), source: records.plugins[plugin.name]?.source },
      ];
    } catch (error) {
      problems.push(visible(messageOf(error)));
      return [];
    }
  });
  return { plugins, problems };
}

export function recordPlugin(home: string, name: string, source: string): void {
  const { plugins, ...rest } = readRecords(home);
  const installedAt = new Date().toISOString();
  writeRecords(home, { ...rest, plugins: { ...plugins, [name]: { source, installedAt } } });
}

export function forgetPlugin(home: string, name: string): void {
  const { plugins, disabled, version } = readRecords(home);
  const { [name]: _, ...others } = plugins;
  writeRecords(home, { version, plugins: others, disabled: disabled.filter((each) => each !== name) });
}

export function enablePlugins(home: string, names: readonly string[], isEnabled: boolean): void {
  const records = readRecords(home);
  const others = records.disabled.filter((name) => !names.includes(name));
  const known = installedPlugins(home).plugins.map(({ name }) => name); // As in Copilot, other names change nothing.
  const off = isEnabled ? [] : names.filter((name) => known.includes(name));
  writeRecords(home, { ...records, disabled: [...others, ...off] });
}

/** A file that cannot be read must not be written over. */
function readRecords(home: string): PluginRecords {
  const file = recordFile(home);
  const text = readWholeTextFile(file, { maxBytes: 1024 * 1024 });
  if (text === undefined) return { version: 1, plugins: {}, disabled: [] };
  try {
    return PluginRecords().parse(JSON.parse(text));
  } catch (error) {
    throw new Error(`${file} cannot be read. Correct or remove it.`, { cause: error });
  }
}

/** While nobody knows which are switched off, none counts. */
function readable(home: string, problems: string[]): PluginRecords {
  try {
    return readRecords(home);
  } catch (error) {
    problems.push(visible(`${messageOf(error)} No plugin counts until then.`));
    return { version: 1, plugins: {}, disabled: folderNames(pluginsFolder(home)) };
  }
}

function writeRecords(home: string, records: PluginRecords): void {
  makePrivateFolder(home);
  writePrivateFile(recordFile(home), `${JSON.stringify(records, null, 2)}\n`);
}

const folderNames = (folder: string): string[] => namesIn(folder, (entry) => entry.isDirectory());
/** Removing a plugin would remove what a link leads to. */
const linkNames = (folder: string): string[] => namesIn(folder, (entry) => entry.isSymbolicLink());

function namesIn(folder: string, isWanted: (entry: Dirent) => boolean): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries
    .filter((entry) => isWanted(entry) && !entry.name.startsWith("."))
    .map(({ name }) => name)
    .sort();
}
