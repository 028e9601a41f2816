/**
 * The events with which each run of a sub-agent begins and ends, the only place that appends them.
 *
 * A run has `subagent.started` and one of its two ends, and between them, beside everything that it did, a boundary at either side: one kind of
 * event by which whoever reads a log matches starts with ends. All of a side is appended in one tick, and so is one transaction.
 */
import type { EventData } from "@retinue/protocol";
import type { Session } from "./session.ts";

interface Run {
  append: Session["append"];
  /** The session of the agent above. */
  parentId: string;
  /** The first is 1; each message to an agent that has answered begins another. */
  run: number;
}

export function beginRun(data: EventData<"subagent.started">, { append, parentId, run }: Run): void {
  const { toolCallId, agentName } = data;
  append("subagent.started", data);
  append("subagent_session_boundary", { phase: "start", run, parentId, toolCallId, agentName });
}

export type RunEnd =
  | { type: "subagent.completed"; data: EventData<"subagent.completed"> }
  | { type: "subagent.failed"; data: EventData<"subagent.failed"> };

export function endRun({ type, data }: RunEnd, { append, parentId, run }: Run): void {
  const { toolCallId, agentName } = data;
  const about = { run, parentId, toolCallId, agentName };
  if (type === "subagent.failed") {
    append("subagent_session_boundary", { phase: "failure", ...about, error: data.error });
    append(type, data);
    return;
  }
  append("subagent_session_boundary", { phase: "end", ...about, cancelled: data.cancelled });
  append(type, data);
}

/** The end of a run whose log was cut: of its two boundaries so many are there, and none is told twice. */
export function endCutRun(data: EventData<"subagent.completed">, { boundaries, ...run }: Run & { boundaries: number }) {
  const { toolCallId, agentName } = data;
  const { append, parentId } = run;
  if (boundaries === 0)
    append("subagent_session_boundary", { phase: "start", run: run.run, parentId, toolCallId, agentName });
  if (boundaries < 2) endRun({ type: "subagent.completed", data }, run);
  else append("subagent.completed", data);
}
