/** What every part of continuity works with: the database, the time, the settings, the folders that hooks may name. */
import type { Database } from "../../store/sqlite-door.ts";
import type { World } from "../../world.ts";
import type { TranscriptRoots } from "../ingest/transcript-roots.ts";
import type { ContinuityConfig } from "./config.ts";

export interface Continuity {
  readonly db: Database;
  readonly world: World;
  readonly config: ContinuityConfig;
  readonly roots: TranscriptRoots;
}
