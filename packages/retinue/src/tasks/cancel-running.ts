/** Everything in a session tree is stopped: an abort, or the end of the session. */
import type { Tasks } from "./registry.ts";

/** Ends all that this runtime does for the session, but for what is meant to outlive it. */
export async function cancelRunning(tasks: Tasks, reason: string): Promise<void> {
  const running = tasks.records
    .list()
    .filter((record) => record.status === "running" && !record.isDetached && tasks.executorOf(record).traits.runsHere);
  await Promise.all(running.map(({ id }) => tasks.cancel(id, reason)));
}
