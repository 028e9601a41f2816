/** The record of an agent after a cut: what it says follows from the runs that are left in the log. */
import { isOpen, type Runs } from "../recovery/left-open.ts";
import { isEnded } from "./moves.ts";
import type { TaskRecord } from "./record.ts";

/** The same record when none of its runs was cut. */
export function rewound(record: TaskRecord, { left, all, now }: { left: Runs; all: Runs; now: number }): TaskRecord {
  if (left.starts === all.starts && left.ends.length === all.ends.length) return record;
  const last = isOpen(left) ? "cancelled" : (left.ends.at(-1) ?? "cancelled");
  const status = last === "completed" && record.isMultiTurn ? "idle" : last;
  return {
    ...record,
    status,
    ...(record.kind === "agent" ? { runs: left.starts } : {}),
    turns: record.turns.slice(0, left.ends.length),
    error: last === "failed" ? record.error : undefined,
    reason: last === "failed" ? record.reason : undefined,
    message: undefined,
    waiting: undefined,
    activeSince: undefined,
    idleSince: status === "idle" ? now : undefined,
    completedAt: isEnded(status) ? now : undefined,
  };
}
