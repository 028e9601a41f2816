/** Waiting for a task: what counts as new for the caller that waits. */
import type { Live } from "./live.ts";
import { isEnded } from "./moves.ts";
import type { TaskRecord } from "./record.ts";
import type { WaitLimits } from "./waiting.ts";

export interface WaitOptions extends WaitLimits {
  /** Turns after these count as new. */
  afterTurns: number;
  /** Also ends when the task is moved to the background. */
  forPromotion?: boolean;
}

export type Waited = { type: "turn" | "ended" | "promoted" | "timeout"; record: TaskRecord };

export async function waitFor({ record, waiting }: Live, options: WaitOptions): Promise<Waited> {
  const { afterTurns, forPromotion = false, ...limits } = options;
  const startedAs = record.mode;
  const look = (): Waited | undefined => {
    if (isEnded(record.status)) return { type: "ended", record };
    if (record.turns.length > afterTurns && record.status !== "running") return { type: "turn", record };
    return forPromotion && record.mode !== startedAs ? { type: "promoted", record } : undefined;
  };
  return (await waiting.until(look, limits)) ?? { type: "timeout", record };
}
