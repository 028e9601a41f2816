/** What the todos of a fleet came to: for programs as data, for the owner in words. */
import type { FleetResult } from "@retinue/protocol";
import type { FleetRecord } from "../record.ts";
import type { Tasks } from "../registry.ts";
import { runsOf } from "./crew.ts";
import type { Progress } from "./schedule.ts";
import type { Result, TodoRow } from "./todo-table.ts";

const MAX_TEXT = 16_000;
const MAX_REPORT = 48_000;
const MAX_LINE = 1_200;

/** Whether a todo is not the fleet's: it was there before. Those of a plan are the fleet's again when somebody opens them. */
export function isOutside({
  isGiven,
  leaves,
}: Pick<FleetRecord, "isGiven" | "leaves">): (row: Pick<TodoRow, "id" | "status">) => boolean {
  const left = new Set(leaves);
  return ({ id, status }) => left.has(id) && (isGiven || status === "done");
}

export function resultsOf(fleet: FleetRecord, rows: readonly Result[], tasks: Pick<Tasks, "records">): FleetResult[] {
  const runs = new Map(runsOf(fleet, tasks).map((run) => [run.todoId, run]));
  const outside = isOutside(fleet);
  return rows
    .filter((row) => !outside(row))
    .map((row) => {
      const { id: todoId, title, status, attempt, text } = row;
      const run = runs.get(todoId);
      const answer = run?.end?.way === "completed" ? run.end.text : undefined;
      const isDone = status === "done";
      const agent = run?.agentId === undefined ? undefined : tasks.records.get(run.agentId);
      return {
        todoId,
        title,
        status,
        agentId: run?.agentId ?? row.agentId,
        attempts: Math.max(run?.attempt ?? 0, attempt),
        typedResult: isDone && agent?.kind === "agent" ? agent.result?.value : undefined,
        text: (isDone ? (answer ?? text) : answer)?.slice(0, MAX_TEXT),
        worktree: agent?.kind === "agent" ? agent.worktree : undefined,
        error: isDone ? undefined : (text ?? undefined),
      };
    });
}

export function headline({ total, done, failed, blocked, running, pending }: Progress): string {
  if (total === 0) return "No todos are left: they were removed";
  const parts = [
    failed > 0 && `${failed} failed`,
    blocked > 0 && `${blocked} blocked`,
    running > 0 && `${running} running`,
    pending > 0 && `${pending} not started`,
  ].filter((part) => part !== false);
  return [`${done} of ${total} todos are done`, ...parts].join(", ");
}

/** What is not done comes first, since somebody has to act on it. */
export function reportWords(results: readonly FleetResult[], progress: Progress): string {
  const open = results.filter(({ status }) => status !== "done");
  const done = results.filter(({ status }) => status === "done");
  const lines: string[] = [];
  let room = MAX_REPORT;
  for (const { todoId, title, status, agentId, text, error } of [...open, ...done]) {
    const said = (status === "done" ? text : error) ?? "";
    const short = said.length > MAX_LINE ? `${said.slice(0, MAX_LINE)} […]` : said;
    const line = `- ${todoId} (${title}): ${status}${agentId ? `, agent_id "${agentId}"` : ""}${short ? `\n  ${short.replaceAll("\n", "\n  ")}` : ""}`;
    room -= line.length;
    if (room < 0) break;
    lines.push(line);
  }
  const left = results.length - lines.length;
  const rest = left > 0 ? [`${left} more are in the tables todos and todo_results.`] : [];
  return [`${headline(progress)}.`, ...lines, ...rest].join("\n");
}
