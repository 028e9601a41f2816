/** Replaying the events of a session tree: the state of its root, what each child used, and where the log ends. */
import { type EventType, messageOf } from "@retinue/protocol";
import { SessionState } from "../session/state.ts";
import { UsageTotals } from "../session/usage.ts";
import type { StoredEvent } from "../store/store.ts";
import { envelopeOf, eventOf } from "../store/stored-event.ts";

export interface Replayed {
  state: SessionState;
  /** By child session. */
  usage: ReadonlyMap<string, UsageTotals>;
  lastId: string | null;
  count: number;
  /** Why some events could not be read or folded; the session goes on without them. */
  problems: readonly string[];
}

export function replay(events: readonly StoredEvent[], rootId: string): Replayed {
  const state = new SessionState();
  const usage = new Map<string, UsageTotals>();
  const problems: string[] = [];
  let lastId: string | null = null;
  let run = 0;
  for (const stored of events) {
    try {
      const { id, type, data } = envelopeOf(stored);
      lastId = id;
      if (type === undefined) continue;
      state.callIds.apply({ type, data });
      if (stored.sessionId === rootId) {
        if (beginsRun(type, data)) run++;
        state.usage.inRun(run);
        state.apply({ type, data });
      } else {
        const own = usageOf(usage, stored.sessionId);
        own.inRun(run);
        own.apply({ type, data });
      }
    } catch (error) {
      problems.push(messageOf(error));
    }
  }
  for (const each of [state.usage, ...usage.values()]) each.inRun(run);
  return { state, usage, lastId, count: events.length, problems };
}

/** The number of the last checkpoint in these events, including those of sub-agents. */
export function lastCheckpoint(events: readonly StoredEvent[]): number {
  const compactions = events.filter(({ type }) => type === "session.compaction_complete");
  const numbers = compactions.map((event) => eventOf(event, "session.compaction_complete")?.data.checkpointNumber ?? 0);
  return Math.max(0, ...numbers);
}

/** Where the main agent's budget begins anew; the loop does the same when it enters such a prompt. */
function beginsRun(type: EventType, data: object): boolean {
  return type === "user.message" && "delivery" in data && data.delivery === "idle";
}

function usageOf(all: Map<string, UsageTotals>, sessionId: string): UsageTotals {
  const known = all.get(sessionId) ?? new UsageTotals();
  all.set(sessionId, known);
  return known;
}
