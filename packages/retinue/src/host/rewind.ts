/**
 * Going back: an event and all that came after it leave the log, and everything that follows from the log is made anew.
 *
 * Owns the order of that: first the store, then the state, then what lies in files. Only a session at rest can go back.
 */
import { AppError, messageOf } from "@retinue/protocol";
import { lastCheckpoint, replay } from "../recovery/replay.ts";
import { cutCheckpoints } from "../session/folder.ts";
import type { StoredEvent } from "../store/store.ts";
import { recordKey, type TaskRecord } from "../tasks/record.ts";
import { enqueue } from "./enqueue.ts";
import type { HostedSession } from "./hosted-session.ts";

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
  session.log.flush();
  checkEvent(store.events(session.id), eventId);
  await tasks.registry.park(); // Idle agents are opened from what is left of their log when they are next needed.
  refuseWhileBusy(target, "go back");
  const eventsRemoved = store.truncate(session.id, eventId);
  const rest = store.events(session.id);
  const { state, usage, lastId, count } = replay(rest, session.id);
  state.title = session.state.title;
  session.state = state;
  session.log.rewind({ lastId, count });
  tree.transcript.restart();
  tree.usage.restart(usage);
  forgetTasks(target, rest);
  const cleanup = cleanCheckpoints(session.place.folder, rest);
  session.announce("session.snapshot_rewind", { upToEventId: eventId, eventsRemoved });
  session.log.flush();
  return { eventsRemoved, ...cleanup };
}

/** The model starts over. Returns how many messages the model forgets. */
export function clearContext(target: HostedSession, prompt: string): number {
  refuseWhileBusy(target, "be cleared");
  const { session } = target;
  const messagesCleared = session.state.messages.length;
  session.append("session.context_cleared", { messagesCleared, ...(prompt ? { initialMessage: prompt } : {}) });
  session.log.flush();
  if (prompt) enqueue(target, [{ prompt }], {});
  return messagesCleared;
}

function checkEvent(events: readonly StoredEvent[], eventId: string): void {
  const at = events.findIndex(({ json }) => JSON.parse(json).id === eventId);
  if (at < 0) throw new AppError("invalid_params", `Event not found: ${eventId}`);
  if (at === 0)
    throw new AppError("invalid_params", "The first event of a session cannot be removed. Delete the session instead.");
}

/** Tasks whose start was cut from the log are gone, with their sessions. */
function forgetTasks({ tasks, store }: HostedSession, rest: readonly StoredEvent[]): void {
  const { registry } = tasks;
  const { records } = registry;
  const started = new Set(rest.filter(({ type }) => type === "subagent.started").map(({ sessionId }) => sessionId));
  const cut = records.list().filter((record) => registry.executorOf(record).traits.isKept && !started.has(record.id));
  for (const record of cut) {
    records.drop(record.id);
    store.remove("task", recordKey(record));
    store.deleteSession(record.id);
  }
}

function cleanCheckpoints(folder: string, rest: readonly StoredEvent[]): Omit<Cut, "eventsRemoved"> {
  try {
    cutCheckpoints(folder, lastCheckpoint(rest));
    return { checkpointCleanupFailed: false };
  } catch (error) {
    return { checkpointCleanupFailed: true, checkpointCleanupError: messageOf(error) };
  }
}
