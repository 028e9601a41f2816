/** Ending the tasks of a session tree, on an abort or at the end of the session. */
import type { Tasks } from "./registry.ts";

/** Cancels every task that this runtime runs, except those that are meant to outlive the session. */
export async function cancelRunning(tasks: Tasks, reason: string): Promise<void> {
  const running = tasks.records
    .list()
    .filter((record) => record.status === "running" && !record.isDetached && tasks.executorOf(record).traits.runsHere);
  await Promise.all(running.map(({ id }) => tasks.cancel(id, reason)));
}

/** The session closes, so nobody can send a message to those that wait for one: they have completed. */
export async function closeIdle(tasks: Tasks): Promise<void> {
  const idle = tasks.records.list().filter((record) => record.status === "idle" && record.isMultiTurn);
  await Promise.all(idle.map(({ id }) => tasks.cancel(id, "session closed")));
}
