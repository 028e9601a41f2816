/**
 * The agent tools of one agent: starting other agents, reading them, writing to them, listing them.
 *
 * Owns validation and the words that the model reads. It does not know kinds of tasks: agents see all that take messages.
 */
import { AppError, messageOf } from "@retinue/protocol";
import { stopOf } from "../session/stop.ts";
import type { ListInput, ReadInput, TaskInput, WriteInput } from "../tools/task-input.ts";
import { failure, type McpTaskService, type Outcome, success, type TaskService } from "../tools/tool.ts";
import type { WorkingAgent } from "../tree/working-agent.ts";
import { isEnded } from "./moves.ts";
import { activeMs, type TaskRecord } from "./record.ts";
import type { Tasks } from "./registry.ts";
import type { SpawnGate } from "./spawn-gate.ts";
import { firstAnswer } from "./wait-for.ts";

const DEFAULT_WAIT_SECONDS = 30;

interface Self {
  owner: WorkingAgent;
  callId: string;
  tasks: Tasks;
  mcp: McpTaskService;
  startFleet: TaskService["startFleet"];
  gate: SpawnGate;
  signal: AbortSignal;
}

export function taskService(self: Self): TaskService {
  return {
    task: (input) => refusedInWords(() => startTask(self, input)),
    read_agent: (input) => refusedInWords(() => readAgent(self, input)),
    write_agent: (input) => refusedInWords(() => writeAgents(self, input)),
    list_agents: async (input) => listAgents(self, input),
    mcp: self.mcp,
    startFleet: self.startFleet,
  };
}

/** Errors that the model can act on become its result; others are our faults and are thrown. */
async function refusedInWords(work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work();
  } catch (error) {
    const isForModel =
      error instanceof AppError && ["spawn_refused", "agent_not_found", "task_state"].includes(error.code);
    if (isForModel) return failure(messageOf(error));
    throw error;
  }
}

async function startTask(self: Self, input: TaskInput): Promise<Outcome> {
  const { owner, callId, tasks, gate } = self;
  // After a restart the same call runs again: its agent exists, and the call goes on waiting for it.
  const known = tasks.records.byCall(owner.session.id, callId);
  const record = known ?? (await gate(owner, input, callId));
  self.signal.throwIfAborted(); // The caller may have been stopped meanwhile.
  if (known) await tasks.continue(record.id);
  else await tasks.start(record);
  // It may have answered already, and gone on with a message, before the process ended that started it.
  const wasSync = input.mode !== "background" && firstAnswer(record) !== undefined;
  if (record.mode === "background" && !wasSync) return startedInBackground(record);
  return await owner.slot.waiting(() => waitForAnswer(self, record), self.signal);
}

async function waitForAnswer({ tasks, signal }: Self, record: TaskRecord): Promise<Outcome> {
  try {
    const waited = await tasks.wait(record.id, { afterTurns: 0, signal, isStarter: true });
    if (waited.type === "promoted") {
      return success(
        `The agent was moved to the background and goes on there. agent_id: ${record.id}. You will be told when it has answered.`,
      );
    }
    return resultOf(record);
  } catch (error) {
    // An agent that is only parked goes on with its parent later.
    const stop = stopOf(signal);
    if (stop && !stop.isParked) await tasks.cancel(record.id, "parent stopped").catch(() => false);
    throw error;
  }
}

function resultOf(record: TaskRecord): Outcome {
  const answer = firstAnswer(record);
  const response = answer ?? record.turns.at(-1)?.response ?? "";
  const notes = [record.note, record.reason === "refused" && "Note that every call of the agent was refused."];
  const note = notes.map((each) => (each ? `\n\n(${each})` : "")).join("");
  if (answer !== undefined) return success(`${answer}${note}`, { detail: answer });
  if (record.status === "failed") {
    const error = record.error ?? "The agent failed.";
    return failure(response ? `${error}\n\nWhat it had so far:\n${response}${note}` : `${error}${note}`, { error });
  }
  if (record.status === "cancelled") return failure(`The agent was cancelled before it had answered.${note}`);
  return success(`${response}${note}`, { detail: response });
}

function startedInBackground(record: TaskRecord): Outcome {
  const note = record.note ? ` ${record.note}` : "";
  const text = `Agent started in background with agent_id: ${record.id}. You will be told when it has answered; go on with other work.${note}`;
  return success(text, { detail: `Prompt to ${record.agentType} agent (${record.id}):\n${record.prompt}` });
}

async function readAgent({ owner, tasks, signal }: Self, input: ReadInput): Promise<Outcome> {
  const record = visible(tasks, owner, input.agent_id);
  if (!record) return failure("Agent not found", { error: "Agent not found" });
  const hasNewer = input.since_turn !== undefined && record.turns.length > input.since_turn;
  if (input.wait && record.status === "running" && !hasNewer) {
    const timeoutMs = (input.timeout ?? DEFAULT_WAIT_SECONDS) * 1000;
    await owner.slot.waiting(
      () => tasks.wait(record.id, { afterTurns: input.since_turn ?? record.turns.length, timeoutMs, signal }),
      signal,
    );
  } else if (record.status !== "running" || hasNewer) {
    // The answer was read, so its notice would only repeat it.
    await tasks.wait(record.id, { afterTurns: 0, timeoutMs: 0, signal });
  }
  const state = tasks.executorOf(record).view.state?.(record);
  const text = describe(record, { now: owner.session.world.now(), sinceTurn: input.since_turn ?? 0, state });
  return record.status === "failed"
    ? failure(text, { error: record.error })
    : success(text, { detail: `<agent ${record.id} ${record.status}>` });
}

function describe(
  record: TaskRecord,
  { now, sinceTurn, state: progress }: { now: number; sinceTurn: number; state: string | undefined },
): string {
  const state = {
    running: "is running",
    idle: "is idle (waiting for messages)",
    completed: "has completed",
    failed: `has failed: ${record.error ?? "no reason given"}`,
    cancelled: "was cancelled",
    orphaned: "has lost whoever works on it",
  }[record.status];
  const seconds = Math.round(activeMs(record, now) / 1000);
  const head = `Agent ${state}. agent_id: ${record.id}, agent_type: ${record.agentType}, status: ${record.status}, description: ${record.description}, elapsed: ${seconds}s, total_turns: ${record.turns.length}${record.reason ? `, reason: ${record.reason}` : ""}${progress === undefined ? "" : `, progress: ${progress}`}`;
  const turns = record.turns.flatMap(({ message, response }, index) => {
    if (index < sinceTurn) return [];
    return [
      message === undefined
        ? `[Turn ${index}]\n${response}`
        : `[Turn ${index}]\n[Message]\n${message}\n[Response]\n${response}`,
    ];
  });
  const note = record.note === undefined || record.status === "running" ? [] : [`(${record.note})`];
  return [head, ...turns, ...note].join("\n\n");
}

async function writeAgents({ owner, tasks }: Self, input: WriteInput): Promise<Outcome> {
  const ids =
    input.agent_ids ?? (input.agent_id ? [input.agent_id] : scoped(tasks, owner, input.scope).map(({ id }) => id));
  if (ids.length === 0) return failure("No agent to write to: name agent_id, agent_ids or a scope.");
  const lines: string[] = [];
  let delivered = 0;
  for (const id of ids) {
    const record = visible(tasks, owner, id);
    if (!record) {
      lines.push(`Agent not found: ${id}`);
      continue;
    }
    try {
      await tasks.send(id, { text: input.message, source: `agent-${owner.session.id}` });
      delivered++;
      lines.push(`Message delivered to agent ${id}. You will be told when it has answered.`);
    } catch (error) {
      lines.push(messageOf(error));
    }
  }
  return delivered > 0
    ? success(lines.join("\n"))
    : failure(lines.join("\n"), {
        error: ids.length === 1 && lines[0]?.startsWith("Agent not found") ? "Agent not found" : lines.join("\n"),
      });
}

function listAgents({ owner, tasks }: Self, { include_completed, scope = "all" }: ListInput): Outcome {
  const now = owner.session.world.now();
  const all = scope === "all" ? addressable(tasks) : scoped(tasks, owner, scope);
  const shown = all.filter((record) => include_completed || !isEnded(record.status));
  if (shown.length === 0) return success("<no background agents>");
  const groups = [...new Set(shown.map(({ status }) => status))].map((status) => {
    const records = shown.filter((record) => record.status === status);
    const lines = records.map((record) => {
      const seconds = Math.round(activeMs(record, now) / 1000);
      const state = tasks.executorOf(record).view.state?.(record);
      const progress = state === undefined ? "" : `${state}, `;
      return `  ${record.name} (${record.id}): ${record.agentType} - "${record.description}" (${progress}${seconds}s, owner: ${record.ownerId}, relation: ${relation(record, owner)})`;
    });
    return `${status.charAt(0).toUpperCase()}${status.slice(1)} (${records.length}):\n${lines.join("\n")}`;
  });
  return success(groups.join("\n"));
}

function addressable(tasks: Tasks): TaskRecord[] {
  return tasks.records.list().filter((record) => tasks.executorOf(record).traits.isAddressable);
}

function scoped(tasks: Tasks, owner: WorkingAgent, scope: "siblings" | "children" | undefined): TaskRecord[] {
  const ownerId = scope === "siblings" ? owner.session.parent?.id : owner.session.id;
  if (scope === undefined) return [];
  return addressable(tasks).filter((record) => record.ownerId === ownerId && record.id !== owner.session.id);
}

function relation(record: TaskRecord, owner: WorkingAgent): string {
  if (record.ownerId === owner.session.id) return "child";
  return record.ownerId === owner.session.parent?.id ? "sibling" : "other";
}

/** An agent sees its own agents and their siblings; the main agent sees all. */
function visible(tasks: Tasks, owner: WorkingAgent, id: string): TaskRecord | undefined {
  const record = tasks.records.get(id);
  if (!record || !tasks.executorOf(record).traits.isAddressable) return undefined;
  const isNear =
    !owner.session.parent || record.ownerId === owner.session.id || record.ownerId === owner.session.parent.id;
  return isNear ? record : undefined;
}
