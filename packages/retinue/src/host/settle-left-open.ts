/**
 * Ends for what a log leaves open and nobody works on: in a fork, after a cut, or when the record of an agent is gone.
 *
 * Its calls were interrupted, its asks are withdrawn, and its agents are told as cancelled: they did not fail, they are not here.
 */
import { settleInterrupted } from "../loop/calls.ts";
import type { LeftOpen } from "../recovery/left-open.ts";
import { endHooks, type OpenHook } from "../recovery/open-hooks.ts";
import { Inbox } from "../session/inbox.ts";
import { Log } from "../session/log.ts";
import { endCutRun } from "../session/run-boundary.ts";
import { Session } from "../session/session.ts";
import type { Lease, NewEvent } from "../store/store.ts";
import type { World } from "../world.ts";

const NOWHERE = { workingDirectory: "", folder: "" };

export function settleLeftOpen(log: Log, left: readonly LeftOpen[], world: World): void {
  for (const { sessionId, state, start, run = 1, boundaries = 1 } of left) {
    const inbox = new Inbox({ sessionId, log });
    const session = new Session({ id: sessionId, log, world, inbox, state, place: NOWHERE });
    settleInterrupted(session);
    if (!start) continue;
    const { toolCallId, agentName, agentDisplayName, taskName, model, modelSelectionSource } = start;
    const about = { toolCallId, agentName, agentDisplayName, taskName, model, modelSelectionSource };
    endCutRun(
      { ...about, cancelled: true },
      {
        append: (type, data) => session.append(type, data),
        parentId: start.parentId ?? log.rootId,
        run,
        boundaries,
      },
    );
  }
}

/** The same ends as events of a log that is not stored yet, to be stored with it in one transaction. */
export async function endsOf(
  left: readonly LeftOpen[],
  { lease, lastId, world, hooks }: { lease: Lease; lastId: string | null; world: World; hooks: readonly OpenHook[] },
): Promise<readonly NewEvent[]> {
  const events: NewEvent[] = [];
  const store = {
    commit: async (batch: { events?: readonly NewEvent[] }) => void events.push(...(batch.events ?? [])),
  };
  const log = new Log({ lease, store, world, lastId, onFailure: () => undefined });
  endHooks(log, hooks);
  settleLeftOpen(log, left, world);
  await log.committed();
  return events;
}
