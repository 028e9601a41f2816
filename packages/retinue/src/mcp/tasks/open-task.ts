/** A task of a server in the dialect in which it was started. */
import { task2026 } from "./extension-2026.ts";
import { task2025 } from "./revision-2025.ts";
import type { Dialect, ServerTask } from "./server-task.ts";

export interface TaskRef {
  dialect: Dialect;
  taskId: string;
}

export const openTask = ({ dialect, taskId }: TaskRef): ServerTask =>
  dialect === "2025-11-25" ? task2025(taskId) : task2026(taskId);
