/** Waiting for the plan of a fleet: the main agent's run that writes the todos. A plan that was not finished is not worked off. */
import type { Runner } from "../../loop/runner.ts";
import type { Session } from "../../session/session.ts";
import type { FleetRecord } from "../record.ts";

export interface PlanningOptions {
  root: Session;
  runner: Runner;
  /** An earlier process began to wait. */
  isContinued: boolean;
  signal: AbortSignal;
}

/** Undefined when the plan is there; why not otherwise. Also undefined when the signal is aborted. */
export async function planned(
  { planPromptId }: FleetRecord,
  { root, runner, isContinued, signal }: PlanningOptions,
): Promise<string | undefined> {
  let hasRun = isContinued;
  while (!signal.aborted) {
    const isQueued = root.inbox.queue.some(({ id }) => id === planPromptId);
    if (!runner.isRunning && !isQueued) break;
    const end = await firstOf(runner.isRunning ? runner.ended() : nextEvents(root), signal);
    if (!end) continue;
    hasRun = true;
    if (end.type === "failed") return `The plan could not be made: ${end.error}`;
    if (end.type === "stopped" && !end.stop.isParked) return STOPPED;
  }
  if (signal.aborted) return undefined;
  const { isModelDue, openCalls, lastError } = root.state;
  if (!hasRun) return "The prompt for the plan was withdrawn.";
  if (isModelDue || openCalls.size > 0) return STOPPED;
  return lastError === undefined ? undefined : `The plan could not be made: ${lastError}`;
}

const STOPPED = "The work on the plan was stopped before it was finished.";

/** A queue that is paused goes on with a message of a client, which leaves events. */
async function nextEvents({ log }: Session): Promise<undefined> {
  await new Promise<void>((resolve) => {
    const stop = log.listen(() => {
      stop();
      resolve();
    });
  });
}

async function firstOf<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let onAbort = () => {};
  const aborted = new Promise<undefined>((resolve) => {
    onAbort = () => resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
