/** The states of a task. Every legal move can be read here, and an illegal one says which it was. */
import { AppError } from "@retinue/protocol";

export type TaskStatus = "running" | "idle" | "completed" | "failed" | "cancelled";

const NEXT = {
  running: ["idle", "completed", "failed", "cancelled"],
  idle: ["running", "completed", "cancelled"], // An agent that has answered and takes more messages.
  completed: [],
  failed: [],
  cancelled: [],
} as const satisfies Record<TaskStatus, readonly TaskStatus[]>;

export function isEnded(status: TaskStatus): boolean {
  return NEXT[status].length === 0;
}

export function checkMove(id: string, from: TaskStatus, to: TaskStatus): void {
  const allowed: readonly TaskStatus[] = NEXT[from];
  if (!allowed.includes(to)) throw new AppError("task_state", `Task ${id} cannot go from ${from} to ${to}`);
}
