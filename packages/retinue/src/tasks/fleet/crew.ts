/**
 * The agents of a fleet: started through the spawn gate like any other, and found again by the call that each has as its origin.
 *
 * That call is made up of fleet, todo and attempt. It is in the record of the agent, so the record is the lease of the todo.
 */
import { AppError } from "@retinue/protocol";
import * as z from "zod";
import type { WorkingAgent } from "../../tree/working-agent.ts";
import { conflictWords } from "../isolation.ts";
import type { FleetRecord, TaskRecord } from "../record.ts";
import type { Tasks } from "../registry.ts";
import type { SpawnGate } from "../spawn-gate.ts";
import { firstAnswer } from "../wait-for.ts";
import type { Crew } from "./fleet-run.ts";
import type { Run, RunEnd } from "./todo-run.ts";

const DEFAULT_AGENT = "general-purpose";
const MAX_TEXT = 20_000;
const MAX_NAME = 60;

export interface CrewOptions {
  fleet: FleetRecord;
  /** Stands for the fleet. */
  leader: WorkingAgent;
  tasks: Tasks;
  gate: SpawnGate;
  /** Nothing is started any more. */
  isStopping(): boolean;
  signal: AbortSignal;
}

export function crewOf({ fleet, leader, tasks, gate, isStopping, signal }: CrewOptions): Crew {
  return {
    runs: () => runsOf(fleet, tasks),
    async start({ id, title, agentType = DEFAULT_AGENT, schema: own }, { attempt, prompt }) {
      const schema = own === undefined ? { value: fleet.schema } : schemaIn(own);
      if (!schema) return { refused: "Its schema in the table todo_agents is not a JSON object." };
      const input = {
        agent_type: agentType,
        name: id.slice(0, MAX_NAME),
        description: title,
        prompt,
        mode: "sync" as const,
        isolation: fleet.isolation,
        schema: schema.value,
      };
      let record: TaskRecord;
      try {
        record = await gate(leader, input, callOf(fleet, id, attempt));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return { refused: error.message };
      }
      signal.throwIfAborted();
      if (isStopping()) throw new Error("the fleet is being stopped");
      const { id: agentId } = record;
      try {
        await tasks.start(record);
      } catch (error) {
        // It has failed by then, and its record says why. What was refused would be refused again.
        if (error instanceof AppError && error.code === "spawn_refused") return { agentId, refused: error.message };
      }
      return { agentId };
    },
    async ended(agentId) {
      const { records } = tasks;
      for (;;) {
        const record = records.get(agentId);
        const end = record && endOf(record);
        if (!record) return { way: "cancelled", error: "Its agent was removed." };
        if (end) return end;
        await tasks.continue(agentId); // Does nothing when it runs.
        await tasks.wait(agentId, { afterTurns: 0, isStarter: true, signal });
      }
    },
    async cancel(agentId) {
      await tasks.cancel(agentId, "its todo was removed");
    },
  };
}

/** The table is the model's too, so anything may be there. */
function schemaIn(text: string): { value: Record<string, unknown> } | undefined {
  try {
    const { data } = z.record(z.string(), z.unknown()).safeParse(JSON.parse(text));
    return data && { value: data };
  } catch {
    return undefined; // Said where the todo is refused.
  }
}

const callOf = ({ id }: FleetRecord, todoId: string, attempt: number): string => `${id}:${todoId}:${attempt}`;

/** The latest run of each todo. */
export function runsOf(fleet: FleetRecord, { records }: Pick<Tasks, "records">): Run[] {
  const latest = new Map<string, Run>();
  for (const record of records.ownedBy(fleet.id)) {
    const rest = record.callId.startsWith(`${fleet.id}:`) ? record.callId.slice(fleet.id.length + 1) : "";
    const colon = rest.lastIndexOf(":");
    const attempt = Number(rest.slice(colon + 1));
    if (colon < 0 || !Number.isInteger(attempt)) continue;
    const todoId = rest.slice(0, colon);
    if ((latest.get(todoId)?.attempt ?? 0) > attempt) continue;
    latest.set(todoId, { todoId, attempt, agentId: record.id, end: endOf(record) });
  }
  return [...latest.values()];
}

/** Undefined while it works on its todo. What it answers to messages after that is no concern of the fleet. */
function endOf(record: TaskRecord): RunEnd | undefined {
  const answer = firstAnswer(record);
  const work = record.kind === "agent" ? record.worktree : undefined;
  // What was not merged is not there for those that build on it. Another try begins with what is there now.
  if (answer !== undefined && work?.type === "conflicts") return unmerged(record, conflictWords(work));
  if (answer !== undefined && work?.type === "failed") return unmerged(record, work.error);
  if (answer !== undefined) return { way: "completed", text: answer.slice(0, MAX_TEXT), isData: isData(record) };
  if (record.status === "failed") return { way: "failed", error: record.error ?? "Its agent failed." };
  if (record.status === "cancelled") return { way: "cancelled", error: "Its agent was cancelled." };
  return record.status === "completed" ? { way: "failed", error: "Its agent ended without an answer." } : undefined;
}

const isData = (record: TaskRecord): boolean => record.kind === "agent" && record.result !== undefined;

function unmerged(record: TaskRecord, why: string): RunEnd {
  const ref = record.kind === "agent" && record.worktree && "ref" in record.worktree ? record.worktree.ref : undefined;
  const kept = ref === undefined ? "" : ` It is kept as ${ref}.`;
  return { way: "failed", error: `The work of its agent could not be merged: ${why}.${kept}` };
}
