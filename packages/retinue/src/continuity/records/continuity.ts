/** What every part of continuity works with: what is kept, the time, the settings, the folders that hooks may name. */
import type { TranscriptStore } from "../../store/transcripts.ts";
import type { World } from "../../world.ts";
import type { ContinuityConfig } from "./config.ts";
import type { TranscriptRoots } from "./transcript-roots.ts";

export interface Continuity {
  readonly transcripts: TranscriptStore;
  readonly world: World;
  readonly config: ContinuityConfig;
  readonly roots: TranscriptRoots;
}
