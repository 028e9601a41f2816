/** The hooks that files name, without a session: of the user, of plugins, and of projects. */
import { type HookPlace, hookPlaces } from "../hooks/hook-places.ts";
import { type FoundHook, readHooks } from "../hooks/hook-reader.ts";
import { readInstalledSet } from "../plugins/plugin-set.ts";
import { ProjectGate } from "../project/gate.ts";
import { FolderTrust } from "../project/trust.ts";
import type { Documents } from "../store/store.ts";

export interface HookDiscovery {
  home: string;
  userFolder: string | undefined;
  projectPaths: readonly string[];
  /** Only those of projects. */
  excludeHostHooks: boolean;
  documents: Documents;
}

const ORIGINS = { user: "user", project: "repository", plugin: "plugin" } as const;

export async function discoverHooks({ home, userFolder, projectPaths, excludeHostHooks, documents }: HookDiscovery) {
  const trust = new FolderTrust({ documents, warn: () => undefined });
  const { hooks: ofPlugins } = readInstalledSet(home);
  const rows = new Map<string, ReturnType<typeof rowOf>>();
  const errors = new Set<string>();
  for (const folder of projectPaths.length > 0 ? projectPaths : [home]) {
    const gate = new ProjectGate(folder, trust);
    await gate.refresh();
    const isWanted = ({ origin }: HookPlace) => (origin === "project" ? projectPaths.length > 0 : !excludeHostHooks);
    const places = hookPlaces({ home, userFolder, project: gate, plugins: ofPlugins }).filter(isWanted);
    const { hooks, problems } = readHooks(places, gate);
    for (const found of hooks) rows.set(`${found.place.file} ${found.identity}`, rowOf(found, folder));
    for (const problem of problems) errors.add(problem);
  }
  return { hooks: [...rows.values()], warnings: [], errors: [...errors] };
}

function rowOf({ hook, place, identity, state }: FoundHook, folder: string) {
  return {
    id: identity.trim(),
    hookType: hook.event,
    origin: ORIGINS[place.origin],
    source: place.plugin?.name ?? place.file,
    projectPath: place.origin === "project" ? folder : undefined,
    enabled: state === "runs",
  };
}
