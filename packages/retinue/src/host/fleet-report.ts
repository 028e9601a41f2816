/** What the todos of a fleet have come to, while it works and after it. */
import { AppError, type FleetReport } from "@retinue/protocol";
import type { FleetRecord } from "../tasks/record.ts";
import type { HostedSession } from "./hosted-session.ts";

/** By id, or the latest one. */
export function fleetRecord({ session, tasks }: HostedSession, id?: string): FleetRecord {
  const all = tasks.registry.records.ownedBy(session.id).filter((record) => record.kind === "fleet");
  const found = all.findLast((record) => id === undefined || record.id === id);
  if (!found) throw new AppError("task_state", id === undefined ? "There was no fleet." : `Fleet not found: ${id}`);
  return found;
}

export async function fleetReport(
  target: HostedSession,
  id: string | undefined,
  { signal }: { signal: AbortSignal },
): Promise<FleetReport> {
  const record = fleetRecord(target, id);
  const { id: fleetId, status, error, progress, phase } = record;
  const about = { fleetId, status: status === "orphaned" ? ("running" as const) : status, error, progress };
  if (phase === "planning") return { ...about, results: [] };
  const { resultsOf } = await import("../tasks/fleet/report.ts");
  const { todosOf } = await import("../tasks/fleet/todo-table.ts");
  const rows = await todosOf(target.tree).results({ signal });
  return { ...about, results: resultsOf(record, rows, target.tasks.registry) };
}
