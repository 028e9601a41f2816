/** Waiting for a task: what counts as new for the caller that waits. */
import type { Live } from "./live.ts";
import { isEnded } from "./moves.ts";
import type { TaskRecord } from "./record.ts";
import type { WaitLimits } from "./waiting.ts";

export interface WaitOptions extends WaitLimits {
  /** Turns after these count as new. */
  afterTurns: number;
  /** The call that started the task: waits for the first answer, or until the task is moved to the background. */
  isStarter?: boolean;
}

export type Waited = { type: "turn" | "ended" | "promoted" | "timeout"; record: TaskRecord };

export async function waitFor({ record, waiting }: Live, options: WaitOptions): Promise<Waited> {
  const { afterTurns, isStarter = false, ...limits } = options;
  const startedAs = record.mode;
  const before = record.turns.length;
  const look = (): Waited | undefined => {
    const { turns, status } = record;
    if (isStarter && firstAnswer(record) !== undefined) return { type: "turn", record };
    if (isEnded(status)) return { type: "ended", record };
    // It may have gone on with the next message by now.
    if (turns.length > afterTurns && (status !== "running" || turns.length > before)) return { type: "turn", record };
    return isStarter && record.mode !== startedAs ? { type: "promoted", record } : undefined;
  };
  return (await waiting.until(look, limits)) ?? { type: "timeout", record };
}

/** What the first run answered; undefined while it runs, and when it failed. */
export function firstAnswer({ turns: [first] }: TaskRecord): string | undefined {
  return first && first.error === undefined ? first.response : undefined;
}
