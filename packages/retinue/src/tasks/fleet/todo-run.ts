/** One try of a todo, and whether the tables show what it came to. */
import type { TodoRow } from "./todo-table.ts";

/** One try of a todo: its agent, or a start that was refused. */
export interface Run {
  readonly todoId: string;
  readonly attempt: number;
  readonly agentId?: string;
  /** Undefined while it goes on. */
  readonly end?: RunEnd;
}

export type RunEnd =
  /** `isData`: the text is JSON that fits a schema. */
  | { way: "completed"; text: string; isData?: boolean }
  | { way: "failed"; error: string }
  /** Ended by somebody, or not allowed to start: trying again would be against their will, or in vain. */
  | { way: "cancelled" | "refused"; error: string };

/** A start that was refused has no agent, and so no record: then the tables know of a later run. */
export function isShown(row: TodoRow, { attempt, agentId }: Run): boolean {
  if (row.attempt !== attempt) return row.attempt > attempt;
  return row.agentId === agentId && row.outcome !== "leased";
}
