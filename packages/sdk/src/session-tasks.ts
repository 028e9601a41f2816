/** The tasks of a session as its program sees them: sub-agents, shells, and work that the program itself reports. */
import { AppError, type ClientTaskUpdate, type TaskInfo, type TaskProgress } from "@retinue/protocol";
import { AnswerError } from "./ask.ts";
import type { CancelTask } from "./attached.ts";
import type { WaitLimits } from "./message.ts";
import { checkResult, formOf, type ResultOf, type ResultSchema } from "./result-schema.ts";
import type { SessionRpc } from "./rpc.ts";

export interface StartAgent {
  agentType: string;
  prompt: string;
  name: string;
  description?: string;
  model?: string;
}

/** A sub-agent whose answers are data. */
export interface StartTypedAgent<Schema> extends StartAgent {
  /** JSON Schema, or a schema that can describe itself so, such as zod: the result has then its type. */
  schema: Schema;
}

/** A sub-agent that was asked for data. */
export interface TypedTask<Result> {
  readonly id: string;
  /** Resolves with the latest answer when the agent rests; rejects with the reason when it has failed. */
  result(limits?: WaitLimits): Promise<Result>;
}

/** Resolves when a task rests or has ended. */
type WaitForTask = (id: string, limits?: WaitLimits) => Promise<TaskInfo>;

export interface HostTaskOptions {
  clientTaskId: string;
  description: string;
  displayName?: string;
  /** Without it the task cannot be cancelled from outside. */
  onCancel?: CancelTask;
}

export class SessionTasks {
  readonly #rpc: SessionRpc;
  readonly #cancels: Map<string, CancelTask>;
  readonly #wait: WaitForTask;

  constructor(rpc: SessionRpc, { cancels, wait }: { cancels: Map<string, CancelTask>; wait: WaitForTask }) {
    this.#rpc = rpc;
    this.#cancels = cancels;
    this.#wait = wait;
  }

  async list(): Promise<TaskInfo[]> {
    return (await this.#rpc.tasks.list()).tasks;
  }

  async get(id: string): Promise<TaskInfo | undefined> {
    return (await this.list()).find((task) => task.id === id);
  }

  /** Starts a background sub-agent without the model; resolves with its id. */
  start(agent: StartAgent & { schema?: undefined }): Promise<string>;
  /** With a schema it resolves with the task, whose result is data of that form. */
  start<Schema extends ResultSchema>(agent: StartTypedAgent<Schema>): Promise<TypedTask<ResultOf<Schema>>>;
  async start({ schema, ...agent }: StartAgent & { schema?: ResultSchema }): Promise<string | TypedTask<unknown>> {
    const asked = schema && formOf(schema);
    const { agentId: id } = await this.#rpc.tasks.startAgent({ ...agent, schema: asked });
    return schema ? { id, result: async (limits) => typedResult(await this.#wait(id, limits), schema) } : id;
  }

  /** Sends a sub-agent a further message. */
  async send(id: string, message: string): Promise<void> {
    const { sent, error } = await this.#rpc.tasks.sendMessage({ id, message });
    if (!sent) throw new AppError("agent_not_found", error ?? `no agent ${id} takes messages`);
  }

  /** Ends a task and everything below it; false when there was nothing to end. */
  async cancel(id: string): Promise<boolean> {
    return (await this.#rpc.tasks.cancel({ id })).cancelled;
  }

  /** Removes an ended task from the list. */
  async remove(id: string): Promise<boolean> {
    return (await this.#rpc.tasks.remove({ id })).removed;
  }

  async progress(id: string): Promise<TaskProgress | undefined> {
    return (await this.#rpc.tasks.getProgress({ id })).progress ?? undefined;
  }

  /** Moves the task that the main turn waits for to the background; by id, or whichever it is. */
  async promote(id?: string): Promise<boolean> {
    if (id !== undefined) return (await this.#rpc.tasks.promoteToBackground({ id })).promoted;
    return (await this.#rpc.tasks.promoteCurrentToBackground()).task !== undefined;
  }

  /** Reports work of the program itself; the session is not idle while it runs. */
  async register({ onCancel, ...task }: HostTaskOptions): Promise<HostTask> {
    if (onCancel) this.#cancels.set(task.clientTaskId, onCancel);
    const registered = await this.#rpc.tasks.register({ type: "client", ...task, cancellable: onCancel !== undefined });
    const { id, sequence } = registered.task;
    return new HostTask(this.#rpc, { id, sequence, settled: () => this.#cancels.delete(task.clientTaskId) });
  }
}

/** The answer of an agent as data. Throws the reason when there is none. */
async function typedResult(task: TaskInfo, schema: ResultSchema): Promise<unknown> {
  const { id, status } = task;
  if (task.type !== "agent" || (status !== "idle" && status !== "completed")) {
    const { error = `The agent ${id} has not answered: it is ${status}.` } = { error: undefined, ...task };
    throw new AppError("task_state", error);
  }
  const checked = await checkResult(task.typedResult, schema);
  if (checked.issues) throw new AnswerError(task.result ?? "", checked.issues);
  return checked.value;
}

/** One piece of the program's own work. Updates are numbered; this keeps the count. */
export class HostTask {
  readonly id: string;
  readonly #rpc: SessionRpc;
  readonly #settled: () => void;
  #sequence: number;

  constructor(rpc: SessionRpc, { id, sequence, settled }: { id: string; sequence: number; settled: () => void }) {
    this.id = id;
    this.#rpc = rpc;
    this.#sequence = sequence;
    this.#settled = settled;
  }

  progress(update: { message?: string; phase?: string; percentage?: number }): Promise<void> {
    return this.#update({ kind: "progress", ...update });
  }

  complete(result?: unknown): Promise<void> {
    return this.#end({ kind: "completed", result });
  }

  fail(error: string): Promise<void> {
    return this.#end({ kind: "failed", error });
  }

  async #end(update: ClientTaskUpdate): Promise<void> {
    this.#settled();
    await this.#update(update);
  }

  async #update(update: ClientTaskUpdate): Promise<void> {
    this.#sequence += 1;
    await this.#rpc.tasks.update({ id: this.id, sequence: this.#sequence, update });
  }
}
