/** A small world for the tests of continuity: a database in memory, a clock that is set by hand. */
import { openDatabase } from "../store/sqlite-door.ts";
import { HookInput } from "./ingest/hook-input.ts";
import type { TranscriptRoots } from "./ingest/transcript-roots.ts";
import { DEFAULT_CONFIG } from "./records/config.ts";
import type { Continuity } from "./records/continuity.ts";
import { migrateContinuity } from "./records/schema.ts";

export interface TestHome extends Continuity {
  time: { now: number };
}

export const NOON = Date.UTC(2026, 10, 15, 12);

export function testHome({ path = ":memory:", roots = {} }: { path?: string; roots?: TranscriptRoots } = {}): TestHome {
  const db = openDatabase(path);
  db.exec("PRAGMA foreign_keys = ON");
  if (path !== ":memory:") db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  migrateContinuity(db);
  const time = { now: NOON };
  let ids = 0;
  return { db, time, roots, config: DEFAULT_CONFIG, world: { now: () => time.now, newId: () => `id-${++ids}` } };
}

export const hook = (fields: { sessionKey: string } & Record<string, unknown>) =>
  HookInput.parse({ harness: "claude-code", project: "/projects/shop", ...fields });
