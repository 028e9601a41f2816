/** The events of a session tree folded again: the state of its root, what each child used, and where the log ends. */
import { SessionState } from "../session/state.ts";
import { UsageTotals } from "../session/usage.ts";
import type { StoredEvent } from "../store/store.ts";

export interface Replayed {
  state: SessionState;
  /** By child session. */
  usage: ReadonlyMap<string, UsageTotals>;
  lastId: string | null;
  count: number;
}

export function replay(events: readonly StoredEvent[], rootId: string): Replayed {
  const state = new SessionState();
  const usage = new Map<string, UsageTotals>();
  let lastId: string | null = null;
  for (const { sessionId, json } of events) {
    const event = JSON.parse(json);
    lastId = event.id;
    if (sessionId === rootId) state.apply(event);
    else usageOf(usage, sessionId).apply(event);
  }
  return { state, usage, lastId, count: events.length };
}

/** The number of the last checkpoint that these events made; sub-agents make them as well. */
export function lastCheckpoint(events: readonly StoredEvent[]): number {
  const compactions = events.filter(({ type }) => type === "session.compaction_complete");
  return Math.max(0, ...compactions.map(({ json }) => JSON.parse(json).data.checkpointNumber ?? 0));
}

function usageOf(all: Map<string, UsageTotals>, sessionId: string): UsageTotals {
  const known = all.get(sessionId) ?? new UsageTotals();
  all.set(sessionId, known);
  return known;
}
