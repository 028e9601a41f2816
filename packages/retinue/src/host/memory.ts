/**
 * Continuity in the runtime: transcripts are written with the events, a sub-agent is told what its parent knows, and agents can search.
 *
 * Owns the joints between the session tree and continuity/; what a transcript or a block is, is decided there.
 */
import type { Inherit as DefinedInherit } from "../agents/definition.ts";
import { OWN_HARNESS, recordTranscript } from "../continuity/ingest/transcript-fold.ts";
import { transcriptRoots } from "../continuity/ingest/transcript-roots.ts";
import { inheritBlock, maxCharsFor } from "../continuity/recall/inherit.ts";
import { sessionSearchTool } from "../continuity/recall/session-search-tool.ts";
import { readConfig, tailCharsOf } from "../continuity/records/config.ts";
import { deleteOwnTranscript } from "../continuity/records/retention.ts";
import { migrateContinuity } from "../continuity/records/schema.ts";
import { sessionsByKey } from "../continuity/records/transcripts.ts";
import { indexWhenDue } from "../continuity/records/turn-index.ts";
import type { SqliteStore, SqliteStoreOptions } from "../store/sqlite/store.ts";
import type { World } from "../world.ts";
import type { RuntimeConfig } from "./config.ts";
import type { TreeOptions } from "./tree.ts";

/** A forked child is told everything, up to what a model can take. */
const FORK_CHARS = 400_000;

const UPKEEP_MS = 10_000;

/** How the store keeps transcripts in step with the log. */
export const transcribed: Pick<SqliteStoreOptions, "migrate" | "onCommit" | "onDelete"> = {
  migrate: migrateContinuity,
  onCommit: (db, { lease, events = [] }) => {
    if (events.length > 0) recordTranscript(db, lease.rootId, events);
  },
  onDelete: (db, sessionId) => void deleteOwnTranscript(db, sessionId),
};

/** Turns are indexed for search in batches, beside the work. */
export function keepIndexed({ db }: SqliteStore): () => void {
  const timer = setInterval(() => indexWhenDue(db), UPKEEP_MS);
  timer.unref();
  return () => clearInterval(timer);
}

export function memoryOf(
  { db }: SqliteStore,
  { home, env }: RuntimeConfig,
  world: World,
): Pick<TreeOptions, "extraTools" | "inherit"> {
  const config = readConfig(home);
  const search = sessionSearchTool({ db, world, config, roots: transcriptRoots(env) });
  return {
    extraTools: () => [search],
    inherit: ({ ownerId, inherit }) => {
      const isFork = inherit === "fork";
      const tailChars = isFork ? FORK_CHARS : tailCharsOf(wordOf(inherit), config);
      const [parent] = sessionsByKey(db, ownerId, OWN_HARNESS);
      if (tailChars === undefined || !parent) return undefined;
      return inheritBlock(db, parent, {
        tailChars,
        maxChars: isFork ? FORK_CHARS : Math.max(maxCharsFor(OWN_HARNESS), tailChars + 2000),
      });
    },
  };
}

function wordOf(inherit: DefinedInherit): string {
  return typeof inherit === "string" ? inherit : `tail(${inherit.tail})`;
}
