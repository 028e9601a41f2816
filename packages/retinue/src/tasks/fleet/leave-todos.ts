/** What a fleet that does not come to its end leaves in the tables: nothing is in progress that nobody works on, and what was done is done. */
import type { FleetRecord } from "../record.ts";
import type { Tasks } from "../registry.ts";
import { runsOf } from "./crew.ts";
import { isOutside } from "./report.ts";
import { isShown } from "./todo-run.ts";
import type { Change, TodoRow, TodoTable } from "./todo-table.ts";

/** Resolves with how far the fleet came. */
export async function leaveTodos(
  fleet: FleetRecord,
  { table, tasks, signal }: { table: TodoTable; tasks: Pick<Tasks, "records">; signal: AbortSignal },
): Promise<FleetRecord["progress"]> {
  const { rows } = await table.read([], { signal });
  const outside = isOutside(fleet);
  const runs = new Map(runsOf(fleet, tasks).map((run) => [run.todoId, run]));
  const changes = rows.flatMap((row): Change[] => {
    const run = runs.get(row.id);
    if (!run || isShown(row, run)) return [];
    const { attempt, agentId, end } = run;
    const about = { id: row.id, attempt, agentId };
    if (end?.way === "completed") return [{ ...about, status: "done", outcome: "done", text: end.text }];
    if (row.status !== "in_progress") return [];
    return [{ ...about, status: "pending", outcome: "again", text: "The fleet was stopped while its agent worked." }];
  });
  const left = await table.read(changes, { signal });
  return progressOf(left.rows.filter((row) => !outside(row)));
}

function progressOf(rows: readonly TodoRow[]): FleetRecord["progress"] {
  const count = (isCounted: (row: TodoRow) => boolean) => rows.filter(isCounted).length;
  const failed = count(({ status, outcome }) => status === "blocked" && outcome === "failed");
  return {
    total: rows.length,
    done: count(({ status }) => status === "done"),
    running: 0,
    failed,
    blocked: count(({ status }) => status === "blocked") - failed,
    pending: count(({ status }) => status === "pending" || status === "in_progress"),
  };
}
