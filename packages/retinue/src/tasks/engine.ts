/**
 * Where tasks run. The registry says which task to run; the engine runs it, one run per task at a time.
 *
 * An engine gets an id, never a function: what a run needs is in the task's record and in the log, so any process that has the session
 * tree open can do it. What another engine has to promise is in docs/architecture.md.
 */
import { setMaxListeners } from "node:events";
import type { Stop } from "../session/stop.ts";

/** `start`: the first run. `continue`: after a restart, or with a new message. */
export type How = "start" | "continue";

/** Runs a task once, from its record alone, and records how that ended. Never rejects. */
export type Worker = (taskId: string, how: How, options: { signal: AbortSignal }) => Promise<void>;

export interface Engine {
  /** Settles when the run has settled. When the task runs already, both callers wait for the same run. */
  run(taskId: string, how: How): Promise<void>;
  /** Stops the current run and waits until it has unwound. False when there is none. */
  stop(taskId: string, stop: Stop): Promise<boolean>;
  /** The current run. */
  running(taskId: string): Promise<void> | undefined;
}

export type EngineFor = (tree: { rootId: string; worker: Worker }) => Engine;

/** Runs tasks in this process. */
export const localEngine: EngineFor = ({ worker }) => {
  const runs = new Map<string, { controller: AbortController; settled: Promise<void> }>();
  return {
    run(taskId, how) {
      const present = runs.get(taskId);
      if (present) return present.settled;
      const controller = new AbortController();
      setMaxListeners(0, controller.signal); // Everything that a run starts listens to this signal.
      const run = { controller, settled: Promise.resolve() };
      runs.set(taskId, run);
      run.settled = worker(taskId, how, { signal: controller.signal }).finally(() => runs.delete(taskId));
      return run.settled;
    },
    async stop(taskId, stop) {
      const run = runs.get(taskId);
      if (!run) return false;
      if (!run.controller.signal.aborted) run.controller.abort(stop);
      await run.settled;
      return true;
    },
    running: (taskId) => runs.get(taskId)?.settled,
  };
};
