/** The tasks of a session as its program sees them: sub-agents, shells, and work that the program itself reports. */
import { AppError, type ClientTaskUpdate, type TaskInfo, type TaskProgress } from "@retinue/protocol";
import type { CancelTask } from "./attached.ts";
import type { SessionRpc } from "./rpc.ts";

export interface StartAgent {
  agentType: string;
  prompt: string;
  name: string;
  description?: string;
  model?: string;
}

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

  constructor(rpc: SessionRpc, cancels: Map<string, CancelTask>) {
    this.#rpc = rpc;
    this.#cancels = cancels;
  }

  async list(): Promise<TaskInfo[]> {
    return (await this.#rpc.tasks.list()).tasks;
  }

  async get(id: string): Promise<TaskInfo | undefined> {
    return (await this.list()).find((task) => task.id === id);
  }

  /** Starts a background sub-agent without the model; resolves with its id. */
  async start(agent: StartAgent): Promise<string> {
    return (await this.#rpc.tasks.startAgent(agent)).agentId;
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
