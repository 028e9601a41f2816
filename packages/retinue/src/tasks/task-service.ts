/**
 * What the agent tools do for one agent: start others, read them, write to them, list them.
 *
 * Owns validation and the words that the model reads. The registry is agents.ts; putting a record together is `Spawner`.
 */
import { AppError, messageOf } from "@retinue/protocol";
import type { Agent } from "../loop/agent.ts";
import { stopOf } from "../session/stop.ts";
import type { ListInput, ReadInput, TaskInput, WriteInput } from "../tools/builtin/task.ts";
import { failure, type Outcome, success, type TaskService } from "../tools/tool.ts";
import type { AgentTasks } from "./agents.ts";
import { type AgentRecord, activeMs } from "./record.ts";
import { isEnded } from "./state.ts";

export interface Spawner {
  /** Checks everything that can be refused and gives the record of the new task. Throws `spawn_refused`. */
  prepare(owner: Agent, input: TaskInput, callId: string): Promise<AgentRecord>;
}

const DEFAULT_WAIT_SECONDS = 30;

export function taskService({
  owner,
  callId,
  tasks,
  spawner,
  signal,
}: {
  owner: Agent;
  callId: string;
  tasks: AgentTasks;
  spawner: Spawner;
  signal: AbortSignal;
}): TaskService {
  const self: Self = { owner, callId, tasks, spawner, signal };
  return {
    async run(tool, args) {
      try {
        switch (tool) {
          case "task":
            return await startTask(self, args as TaskInput);
          case "read_agent":
            return await readAgent(self, args as ReadInput);
          case "write_agent":
            return await writeAgents(self, args as WriteInput);
          case "list_agents":
            return listAgents(self, args as ListInput);
        }
      } catch (error) {
        if (
          error instanceof AppError &&
          (error.code === "spawn_refused" || error.code === "agent_not_found" || error.code === "task_state")
        )
          return failure(error.message);
        throw error;
      }
    },
  };
}

interface Self {
  owner: Agent;
  callId: string;
  tasks: AgentTasks;
  spawner: Spawner;
  signal: AbortSignal;
}

async function startTask(self: Self, input: TaskInput): Promise<Outcome> {
  const { owner, callId, tasks, spawner } = self;
  // After a restart the same call comes again: its agent is there, and the call goes on waiting for it.
  const known = tasks.byCall(owner.session.id, callId);
  const record = known ?? (await spawner.prepare(owner, input, callId));
  self.signal.throwIfAborted(); // Nothing is started for an agent that was stopped meanwhile.
  if (known) await tasks.continue(record.id);
  else await tasks.start(record);
  if (record.mode === "background") return startedInBackground(record);
  return await owner.slot.waiting(() => waitForAnswer(self, record), self.signal);
}

async function waitForAnswer({ tasks, signal }: Self, record: AgentRecord): Promise<Outcome> {
  try {
    const waited = await tasks.wait(record.id, { afterTurns: 0, signal, forPromotion: true });
    if (waited.type === "promoted") {
      return success(
        `The agent was moved to the background and goes on there. agent_id: ${record.id}. You will be told when it has answered.`,
      );
    }
    return resultOf(record);
  } catch (error) {
    // An agent that is only set aside goes on with its parent later.
    const stop = stopOf(signal);
    if (stop && !stop.isParked) await tasks.cancel(record.id, "parent stopped").catch(() => false);
    throw error;
  }
}

function resultOf(record: AgentRecord): Outcome {
  const response = record.turns.at(-1)?.response ?? "";
  const note = record.note ? `\n\n(${record.note})` : "";
  if (record.status === "failed") {
    const error = record.error ?? "The agent failed.";
    return failure(response ? `${error}\n\nWhat it had so far:\n${response}${note}` : `${error}${note}`, { error });
  }
  if (record.status === "cancelled") return failure("The agent was cancelled before it had answered.");
  return success(`${response}${note}`, { detail: response });
}

function startedInBackground(record: AgentRecord): Outcome {
  const note = record.note ? ` ${record.note}` : "";
  const text = `Agent started in background with agent_id: ${record.id}. You will be told when it has answered; go on with other work.${note}`;
  return success(text, { detail: `Prompt to ${record.agentType} agent (${record.id}):\n${record.prompt}` });
}

async function readAgent({ owner, tasks, signal }: Self, input: ReadInput): Promise<Outcome> {
  const record = visible(tasks, owner, input.agent_id);
  if (!record) return failure("Agent not found", { error: "Agent not found" });
  if (input.wait && record.status === "running") {
    const timeoutMs = (input.timeout ?? DEFAULT_WAIT_SECONDS) * 1000;
    await owner.slot.waiting(
      () => tasks.wait(record.id, { afterTurns: input.since_turn ?? record.turns.length, timeoutMs, signal }),
      signal,
    );
  } else if (record.status !== "running") {
    // Read: the notice about it would only say it twice.
    await tasks.wait(record.id, { afterTurns: 0, timeoutMs: 0, signal });
  }
  const text = describe(record, owner.session.world.now(), input.since_turn ?? 0);
  return record.status === "failed"
    ? failure(text, { error: record.error })
    : success(text, { detail: `<agent ${record.id} ${record.status}>` });
}

function describe(record: AgentRecord, now: number, sinceTurn: number): string {
  const state = {
    running: "is running",
    idle: "is idle (waiting for messages)",
    completed: "has completed",
    failed: `has failed: ${record.error ?? "no reason given"}`,
    cancelled: "was cancelled",
  }[record.status];
  const seconds = Math.round(activeMs(record, now) / 1000);
  const head = `Agent ${state}. agent_id: ${record.id}, agent_type: ${record.agentType}, status: ${record.status}, description: ${record.description}, elapsed: ${seconds}s, total_turns: ${record.turns.length}`;
  const turns = record.turns.flatMap(({ message, response }, index) => {
    if (index < sinceTurn) return [];
    return [
      message === undefined
        ? `[Turn ${index}]\n${response}`
        : `[Turn ${index}]\n[Message]\n${message}\n[Response]\n${response}`,
    ];
  });
  return [head, ...turns].join("\n\n");
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
      await tasks.send(id, input.message, `agent-${owner.session.id}`);
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
  const all = scope === "all" ? [...tasks.records] : scoped(tasks, owner, scope);
  const shown = all.filter((record) => include_completed || !isEnded(record.status));
  if (shown.length === 0) return success("<no background agents>");
  const groups = [...new Set(shown.map(({ status }) => status))].map((status) => {
    const records = shown.filter((record) => record.status === status);
    const lines = records.map((record) => {
      const seconds = Math.round(activeMs(record, now) / 1000);
      return `  ${record.name} (${record.id}): ${record.agentType} - "${record.description}" (${seconds}s, owner: ${record.ownerId}, relation: ${relation(record, owner)})`;
    });
    return `${status.charAt(0).toUpperCase()}${status.slice(1)} (${records.length}):\n${lines.join("\n")}`;
  });
  return success(groups.join("\n"));
}

function scoped(tasks: AgentTasks, owner: Agent, scope: "siblings" | "children" | undefined): AgentRecord[] {
  const ownerId = scope === "siblings" ? owner.session.parent?.id : owner.session.id;
  if (scope === undefined) return [];
  return tasks.records.filter((record) => record.ownerId === ownerId && record.id !== owner.session.id);
}

function relation(record: AgentRecord, owner: Agent): string {
  if (record.ownerId === owner.session.id) return "child";
  return record.ownerId === owner.session.parent?.id ? "sibling" : "other";
}

/** An agent sees its own agents and their siblings; the main agent sees all. */
function visible(tasks: AgentTasks, owner: Agent, id: string): AgentRecord | undefined {
  const record = tasks.get(id);
  if (!record) return undefined;
  const isNear =
    !owner.session.parent || record.ownerId === owner.session.id || record.ownerId === owner.session.parent.id;
  return isNear ? record : undefined;
}
