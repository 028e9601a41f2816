/** The time limit of one run of a sub-agent, and how far a run of an earlier process had got. */
import { Stop } from "../../session/stop.ts";
import type { AgentRecord } from "../record.ts";
import type { Child } from "./open-child.ts";

export interface TimeLimit {
  readonly isLate: boolean;
  /** Resolves when the time is up. */
  readonly late: Promise<void>;
  readonly error: string;
  clear(): void;
}

/** Stops the run when its time is up. Time that it waits for a person does not count. */
export function timeLimit({ agent, runner }: Child, record: AgentRecord): TimeLimit {
  const { clock } = agent.slot;
  let isLate = false;
  let resolve: () => void = () => undefined;
  const late = new Promise<void>((onLate) => {
    resolve = onLate;
  });
  const stop = () => {
    isLate = true;
    resolve();
    void runner.stop(new Stop("cancel", "timed_out"));
  };
  clock.start(stop, { fromMs: record.workedMs });
  return {
    get isLate() {
      return isLate;
    },
    late,
    error: `The agent was stopped after ${record.budget.maxSeconds} s.`,
    clear: () => {
      record.workedMs = clock.elapsedMs; // Saved with the record, when the run is parked.
      clock.stop();
    },
  };
}
