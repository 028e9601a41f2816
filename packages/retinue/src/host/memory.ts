/**
 * Continuity in the runtime: transcripts are written with the events, a sub-agent inherits from its parent, and agents can search.
 *
 * Owns the connection between the session tree and continuity/, which decides what a transcript and an inherit block contain.
 */
import type { Inherit as DefinedInherit } from "../agents/definition.ts";
import { foldTranscript } from "../continuity/ingest/transcript-fold.ts";
import { inheritBlock, maxCharsFor } from "../continuity/recall/inherit.ts";
import { readConfig, tailCharsOf } from "../continuity/records/config.ts";
import { transcriptRoots } from "../continuity/records/transcript-roots.ts";
import { indexWhenDue } from "../continuity/records/turn-index.ts";
import { sessionSearchTool } from "../continuity/serve/session-search-tool.ts";
import type { TranscriptFold } from "../session/log.ts";
import { patiently } from "../store/patient-store.ts";
import type { Store } from "../store/store.ts";
import { OWN_HARNESS } from "../store/transcript-records.ts";
import type { InheritBlock } from "../tasks/executors/first-prompt.ts";
import type { Tool } from "../tools/tool.ts";
import type { World } from "../world.ts";
import type { RuntimeConfig } from "./config.ts";

/** A forked child inherits everything, up to what fits a model's context. */
const FORK_CHARS = 400_000;

const UPKEEP_MS = 10_000;

/** How the log of a session tree keeps the transcript in step. */
export function transcribe(rootId: string): TranscriptFold {
  return (events) => foldTranscript(rootId, events);
}

/** Indexes turns for search in batches, in the background. Returns a function that stops it. */
export function keepIndexed({ transcripts }: Store, onFailure: (error: unknown) => void): () => Promise<void> {
  let running = Promise.resolve();
  const timer = setInterval(() => {
    running = running.then(() => indexWhenDue(transcripts)).catch(onFailure);
  }, UPKEEP_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}

export function memoryOf(
  { transcripts }: Store,
  { home, env }: RuntimeConfig,
  world: World,
): { tools: readonly Tool[]; inherit: InheritBlock } {
  const config = readConfig(home);
  const search = sessionSearchTool({ transcripts, world, config, roots: transcriptRoots(env) });
  return {
    tools: [search],
    inherit: patiently(async ({ ownerId, inherit }) => {
      const isFork = inherit === "fork";
      const tailChars = isFork ? FORK_CHARS : tailCharsOf(wordOf(inherit), config);
      if (tailChars === undefined) return undefined;
      const [parent] = await transcripts.sessions.byKey(ownerId, OWN_HARNESS);
      if (!parent) return undefined;
      const maxChars = isFork ? FORK_CHARS : Math.max(maxCharsFor(OWN_HARNESS), tailChars + 2000);
      return await inheritBlock(transcripts, parent, { tailChars, maxChars });
    }),
  };
}

function wordOf(inherit: DefinedInherit): string {
  return typeof inherit === "string" ? inherit : `tail(${inherit.tail})`;
}
