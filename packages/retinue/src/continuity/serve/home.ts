/** Opens continuity in a home folder: the database, the settings, the folders that hooks may name. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openSqlite } from "../../store/sqlite/store.ts";
import { realWorld, type World } from "../../world.ts";
import { connectorRoots } from "../connectors/registry.ts";
import { transcriptRoots } from "../ingest/transcript-roots.ts";
import { readConfig } from "../records/config.ts";
import type { Continuity } from "../records/continuity.ts";
import { migrateContinuity } from "../records/schema.ts";

export interface OpenContinuity extends Continuity {
  close(): void;
}

export interface OpenOptions {
  home: string;
  env?: NodeJS.ProcessEnv;
  world?: World;
}

export function openContinuity({ home, env = process.env, world = realWorld }: OpenOptions): OpenContinuity {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const store = openSqlite({ path: join(home, "retinue.db"), migrate: migrateContinuity });
  const config = readConfig(home);
  const roots = transcriptRoots(env, merged(config.transcriptRoots, connectorRoots(home)));
  return { db: store.db, world, config, roots, close: () => store.db.close() };
}

function merged(a: Readonly<Record<string, readonly string[]>>, b: Readonly<Record<string, readonly string[]>>) {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...names].map((name) => [name, [...(a[name] ?? []), ...(b[name] ?? [])]]));
}
