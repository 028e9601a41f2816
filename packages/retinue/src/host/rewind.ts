/**
 * Rewinding: an event and all later ones are cut from the log, and everything that is derived from the log is rebuilt.
 *
 * Owns the order: first the store, in one transaction, then the state, then files. Only a session at rest can be rewound. What is left
 * and had not ended at that point gets its end; the next process does it when this one dies before.
 */
import { AppError, messageOf } from "@retinue/protocol";
import { leftOpen, runsIn } from "../recovery/left-open.ts";
import { endHooks, openHooks } from "../recovery/open-hooks.ts";
import { lastCheckpoint, replay } from "../recovery/replay.ts";
import { cutCheckpoints } from "../session/folder.ts";
import type { StoredEvent } from "../store/store.ts";
import { envelopeOf } from "../store/stored-event.ts";
import { recordKey, TASK, type TaskRecord } from "../tasks/record.ts";
import { rewound } from "../tasks/rewound.ts";
import { enqueue } from "./enqueue.ts";
import type { HostedSession } from "./hosted-session.ts";
import { settleLeftOpen } from "./settle-left-open.ts";

export interface Cut {
  eventsRemoved: number;
  checkpointCleanupFailed: boolean;
  checkpointCleanupError?: string;
}

/** Work of the main agent or of any sub-agent. */
export function isBusy({ runner, tasks }: HostedSession): boolean {
  const { registry } = tasks;
  const isKept = (record: TaskRecord) => registry.executorOf(record).traits.isKept;
  return runner.isRunning || registry.records.list().some((record) => record.status === "running" && isKept(record));
}

export function refuseWhileBusy(target: HostedSession, what: string): void {
  if (isBusy(target))
    throw new AppError(
      "session_invalid",
      `The session is at work, so it cannot ${what} now. Abort it, or wait until it is idle.`,
    );
}

export async function cutBack(target: HostedSession, eventId: string): Promise<Cut> {
  refuseWhileBusy(target, "go back");
  const { session, tree, tasks, store } = target;
  await session.log.committed();
  const events = await store.events.read(session.id);
  const rest = events.slice(0, placeOf(events, eventId));
  await tasks.registry.park(); // Idle agents are opened again, from what is left of their log, when they are next needed.
  refuseWhileBusy(target, "go back");
  const { state, usage, lastId, count } = replay(rest, session.id);
  const { lost, changed } = tasksAfter(target, events, rest);
  await session.log.cut({
    from: eventId,
    lastId,
    count,
    deleted: lost.map(({ id }) => id),
    documents: [
      ...lost.map((record) => TASK.remove(recordKey(record))),
      ...changed.map((record) => TASK.put(recordKey(record), record)),
    ],
  });
  state.title = session.state.title;
  state.prompt.onIdle(); // The log does not say it, and only a session at rest goes back.
  state.callIds.addAll(session.state.callIds);
  session.state = state;
  tree.transcript.restart();
  tree.usage.restart(usage);
  for (const { id } of [...lost, ...changed]) tasks.registry.remove(id, { isCut: true });
  for (const record of changed) tasks.registry.records.add(record);
  const open = leftOpen(rest, (id) => id === session.id);
  // One that is asked just now ends by itself.
  const asked = new Set(openHooks(events).map(({ start }) => start.hookInvocationId));
  endHooks(
    session.log,
    openHooks(rest).filter(({ start }) => !asked.has(start.hookInvocationId)),
  );
  settleLeftOpen(session.log, [...open, { sessionId: session.id, state }], session.world);
  await session.log.committed();
  const cleanup = cleanCheckpoints(session.place.folder, rest);
  const eventsRemoved = events.length - rest.length;
  session.announce("session.snapshot_rewind", { upToEventId: eventId, eventsRemoved });
  return { eventsRemoved, ...cleanup };
}

/** Clears the conversation, and begins it anew when there is a first prompt. Returns how many messages the model forgets. */
export async function clearContext(
  target: HostedSession,
  first: Parameters<typeof enqueue>[1][number],
): Promise<number> {
  const { prompt } = first;
  refuseWhileBusy(target, "be cleared");
  const { session } = target;
  const messagesCleared = session.state.messages.length;
  session.append("session.context_cleared", { messagesCleared, ...(prompt ? { initialMessage: prompt } : {}) });
  if (prompt) await enqueue(target, [first], {});
  return messagesCleared;
}

function placeOf(events: readonly StoredEvent[], eventId: string): number {
  const at = events.findIndex((event) => envelopeOf(event).id === eventId);
  if (at < 0) throw new AppError("invalid_params", `Event not found: ${eventId}`);
  if (at === 0)
    throw new AppError("invalid_params", "The first event of a session cannot be removed. Delete the session instead.");
  return at;
}

/** Tasks whose start is cut from the log are removed with it; those that lose a run or its end go back to what they were. */
function tasksAfter(
  { tasks: { registry }, session: { world } }: HostedSession,
  events: readonly StoredEvent[],
  rest: readonly StoredEvent[],
): { lost: TaskRecord[]; changed: TaskRecord[] } {
  const [before, after] = [runsIn(events), runsIn(rest)];
  const lost: TaskRecord[] = [];
  const changed: TaskRecord[] = [];
  for (const record of registry.records.list()) {
    if (!registry.executorOf(record).traits.isKept) continue;
    const [all, left] = [before.get(record.id), after.get(record.id)];
    const now = all && left && rewound(record, { left, all, now: world.now() });
    if (!now) lost.push(record);
    else if (now !== record) changed.push(now);
  }
  return { lost, changed };
}

function cleanCheckpoints(folder: string, rest: readonly StoredEvent[]): Omit<Cut, "eventsRemoved"> {
  try {
    cutCheckpoints(folder, lastCheckpoint(rest));
    return { checkpointCleanupFailed: false };
  } catch (error) {
    return { checkpointCleanupFailed: true, checkpointCleanupError: messageOf(error) };
  }
}
