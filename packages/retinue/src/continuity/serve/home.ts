/** Opens continuity in a home folder: the store, the settings, the folders that hooks may name. */
import { join } from "node:path";
import { prepareHome } from "../../store/private-files.ts";
import { openSqlite } from "../../store/sqlite/store.ts";
import { realWorld, type World } from "../../world.ts";
import { connectorRoots } from "../connectors/registry.ts";
import { readConfig } from "../records/config.ts";
import type { Continuity } from "../records/continuity.ts";
import { transcriptRoots } from "../records/transcript-roots.ts";

export interface OpenContinuity extends Continuity {
  close(): void;
}

export interface OpenOptions {
  home: string;
  env?: NodeJS.ProcessEnv;
  world?: World;
}

export function openContinuity({ home, env = process.env, world = realWorld }: OpenOptions): OpenContinuity {
  prepareHome(home);
  const store = openSqlite({ path: join(home, "retinue.db") });
  const config = readConfig(home);
  const roots = transcriptRoots(env, merged(config.transcriptRoots, connectorRoots(home)));
  return { transcripts: store.transcripts, world, config, roots, close: () => store.close() };
}

function merged(a: Readonly<Record<string, readonly string[]>>, b: Readonly<Record<string, readonly string[]>>) {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...names].map((name) => [name, [...(a[name] ?? []), ...(b[name] ?? [])]]));
}
