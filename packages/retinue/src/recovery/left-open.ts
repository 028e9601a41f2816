/**
 * What a log, or a part of one, leaves open: the runs of sub-agents that have a start and no end, and the open calls of sessions.
 *
 * A pure function of the events. Who gives them their end is in host/settle-left-open.ts.
 */
import type { EventOf } from "@retinue/protocol";
import type { SessionState } from "../session/state.ts";
import type { StoredEvent } from "../store/store.ts";
import { eventOf } from "../store/stored-event.ts";
import { replay } from "./replay.ts";

/** One session of the tree with something open in it. */
export interface LeftOpen {
  sessionId: string;
  /** With its open calls, and the check of its gates that has no end. */
  state: SessionState;
  /** The start of a run that has no end; absent for the root session. */
  start?: EventOf<"subagent.started">["data"];
  /** Which run of its agent that is. */
  run?: number;
  /** How many of its two boundaries there are; a cut may be between one and the event beside it. */
  boundaries?: number;
}

export type RunEnd = "completed" | "cancelled" | "failed";

/** The runs of one sub-agent, as its events tell. */
export interface Runs {
  starts: number;
  ends: RunEnd[];
  latest: StoredEvent;
  /** Of the latest run. */
  boundaries: number;
}

export function runsIn(events: readonly StoredEvent[]): Map<string, Runs> {
  const runs = new Map<string, Runs>();
  for (const event of events) {
    if (!event.type.startsWith("subagent")) continue;
    const { sessionId } = event;
    const known = runs.get(sessionId);
    if (event.type === "subagent.started")
      runs.set(sessionId, { starts: (known?.starts ?? 0) + 1, ends: known?.ends ?? [], latest: event, boundaries: 0 });
    else if (event.type === "subagent_session_boundary" && known) known.boundaries++;
    else if (event.type === "subagent.failed") known?.ends.push("failed");
    else if (event.type === "subagent.completed") known?.ends.push(wasCancelled(event) ? "cancelled" : "completed");
  }
  return runs;
}

export const isOpen = ({ starts, ends }: Runs): boolean => starts > ends.length;

/** The deepest first, since an agent starts after the one above it. `goesOn` names sessions whose work is there to end it. */
export function leftOpen(events: readonly StoredEvent[], goesOn: (sessionId: string) => boolean): LeftOpen[] {
  const runs = runsIn(events);
  const sessions = [...new Set(events.map(({ sessionId }) => sessionId))].reverse();
  return sessions.flatMap((sessionId) => {
    const own = runs.get(sessionId); // The root session has none.
    if (goesOn(sessionId) || (own && !isOpen(own))) return []; // Between its runs an agent has no open call.
    const { state } = replay(
      events.filter((event) => event.sessionId === sessionId),
      sessionId,
    );
    const start = own && eventOf(own.latest, "subagent.started")?.data;
    const isLeft = start || state.openCalls.size > 0 || state.gates.open;
    return isLeft ? [{ sessionId, state, start, run: own?.starts, boundaries: own?.boundaries }] : [];
  });
}

function wasCancelled(event: StoredEvent): boolean {
  try {
    return eventOf(event, "subagent.completed")?.data.cancelled === true;
  } catch {
    return false; // A damaged event is an end all the same.
  }
}
