/**
 * Feeds the full-text index with the turns that it does not have yet.
 *
 * Turns are indexed in batches, and a search brings the index up to date first. Secrets are removed before that, so that a search
 * cannot be used to guess one.
 */

import { redactInTurns } from "../../secrets/redact.ts";
import { INDEX_BATCH, type TranscriptStore } from "../../store/transcripts.ts";

const CHUNK = 2_000;

/** Indexes every waiting turn. */
export async function indexAll({ index }: TranscriptStore): Promise<void> {
  while ((await index.backlog(1)) > 0) {
    const { mark, turns } = await index.next(CHUNK);
    const words = await redactInTurns(turns.map(({ text, tool }) => (tool ? `${tool} ${text}` : text)));
    const indexed = turns.map(({ id, sessionId }, at) => ({ id, sessionId, words: words[at] ?? "" }));
    const isAdded = await index.add(mark, indexed);
    // Many batches at once leave many pieces of the index to merge.
    if (isAdded && turns.length === CHUNK) await index.tidy(CHUNK);
  }
}

/** Indexes when a batch is full. */
export async function indexWhenDue(transcripts: TranscriptStore): Promise<void> {
  if ((await transcripts.index.backlog(INDEX_BATCH)) === INDEX_BATCH) await indexAll(transcripts);
}
