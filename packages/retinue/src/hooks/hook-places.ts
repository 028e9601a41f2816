/** The files that may name hooks, without reading any of them. Most sessions find none, and load nothing more. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isThere } from "../project/root.ts";

export interface HookPlace {
  origin: "user" | "project" | "plugin";
  file: string;
  /** `disableAllHooks` in it is about every hook of its origin, or of all when it is the user's. */
  isSettings: boolean;
  /** What a relative `cwd` is relative to. */
  folder: string;
  /** The real path of the project that the file must lie in. */
  within?: string;
  plugin?: { name: string; root: string };
  /** In place of the file: a manifest may say it itself. */
  content?: string;
  /** It is the last of its folder that is read, and there are so many. */
  ofFiles?: number;
}

/** The hooks of a plugin: a file of it, or what its manifest says. */
export interface PluginHooks {
  name: string;
  root: string;
  files: readonly string[];
  inline?: string;
}

export interface HookPlaces {
  home: string;
  /** The user's own folder, where other programs keep their settings. */
  userFolder: string | undefined;
  /** Where the session works, and the project around it. */
  project: { folder: string; root: string };
  plugins: readonly PluginHooks[];
}

export function hookPlaces({ home, userFolder, project, plugins }: HookPlaces): HookPlace[] {
  const user = [
    ...jsonIn(join(home, "hooks")),
    { file: join(home, "hooks.json") },
    ...(userFolder === undefined ? [] : [{ file: join(userFolder, ".claude/settings.json") }]),
  ].map(
    (found): HookPlace => ({ ...found, origin: "user", folder: project.folder, isSettings: isSettings(found.file) }),
  );
  const known = new Set(user.map(({ file }) => file)); // In ~ they are the user's.
  return [
    ...user,
    ...projectPlaces(project).filter(({ file }) => !known.has(file)),
    ...plugins.flatMap(pluginPlaces),
  ].filter(({ file, content }) => content !== undefined || isThere(file));
}

function projectPlaces({ folder, root }: HookPlaces["project"]): HookPlace[] {
  const names = [".retinue/hooks.json", ".claude/settings.json", ".claude/settings.local.json"];
  const files: FoundFile[] = [
    ...jsonIn(join(folder, ".github/hooks")),
    ...names.map((name) => ({ file: join(folder, name) })),
  ];
  return files.map((found) => ({
    ...found,
    origin: "project",
    folder,
    isSettings: isSettings(found.file),
    within: root,
  }));
}

function pluginPlaces({ name, root, files, inline }: PluginHooks): HookPlace[] {
  const shared = { origin: "plugin", folder: root, isSettings: false, plugin: { name, root } } as const;
  const own = files.map((file): HookPlace => ({ ...shared, file }));
  return inline === undefined ? own : [...own, { ...shared, file: join(root, "plugin.json"), content: inline }];
}

type FoundFile = Pick<HookPlace, "file" | "ofFiles">;

/** They are read before anybody has agreed to anything, and shown to whoever does. */
export const MAX_FILES = 100;

function jsonIn(folder: string): FoundFile[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
    const found: FoundFile[] = names.sort().map((name) => ({ file: join(folder, name) }));
    const last = found[MAX_FILES - 1];
    if (last && found.length > MAX_FILES) last.ofFiles = found.length;
    return found.slice(0, MAX_FILES);
  } catch {
    return []; // Most folders have none.
  }
}

const isSettings = (file: string): boolean => /[/\\]settings(\.local)?\.json$/.test(file);
