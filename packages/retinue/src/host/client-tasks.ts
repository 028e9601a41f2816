/**
 * Work that a client does itself and reports as a task: it holds back `session.idle` while it runs.
 *
 * Owns the sequence rule: an update counts only when it is the next one after the last that the runtime has seen.
 */
import { AppError, type ClientTask, type Params } from "@retinue/protocol";
import type { Client } from "./client.ts";
import type { Tree } from "./tree.ts";

interface Held {
  task: ClientTask;
  client: Client;
  activity: { message: string; timestamp: string }[];
  phase?: string;
  percentage?: number;
}

type Update = Params<"session.tasks.update">["update"];

export class ClientTasks {
  readonly #tree: Tree;
  readonly #tasks = new Map<string, Held>();

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  get isRunning(): boolean {
    return [...this.#tasks.values()].some(({ task }) => task.status === "running");
  }

  get list(): readonly ClientTask[] {
    return [...this.#tasks.values()].map(({ task }) => task);
  }

  get(id: string): ClientTask | undefined {
    return this.#tasks.get(id)?.task;
  }

  progress(id: string) {
    const held = this.#tasks.get(id);
    if (!held) return undefined;
    const { task, activity, phase, percentage } = held;
    return {
      type: "client" as const,
      status: task.status,
      sequence: task.sequence,
      updatedAt: task.updatedAt,
      ...(phase === undefined ? {} : { phase }),
      ...(percentage === undefined ? {} : { percentage }),
      ...(activity.at(-1) ? { lastMessage: activity.at(-1)?.message } : {}),
      recentActivity: activity.slice(-20),
    };
  }

  register(
    client: Client,
    params: Params<"session.tasks.register">,
  ): { task: ClientTask; created: boolean; reclaimed: boolean } {
    const known = [...this.#tasks.values()].find(
      ({ task, client: owner }) =>
        task.clientTaskId === params.clientTaskId && (owner === client || task.status === "orphaned"),
    );
    if (known) return this.#reclaim(known, client);
    const now = this.#now();
    const task: ClientTask = {
      type: "client",
      id: this.#tree.root.world.newId(),
      clientTaskId: params.clientTaskId,
      ...(params.displayName ? { displayName: params.displayName } : {}),
      description: params.description,
      status: "running",
      owner: { participantId: client.id, joinId: client.id, kind: "sdk", presence: "connected" },
      executionMode: "background",
      canCancel: params.cancellable,
      sequence: params.expectedSequence ?? 0,
      startedAt: now,
      updatedAt: now,
      activeStartedAt: now,
      activeTimeMs: 0,
    };
    this.#tasks.set(task.id, { task, client, activity: [] });
    this.#tree.tasksChanged();
    return { task, created: true, reclaimed: false };
  }

  update({ id, sequence, update }: Params<"session.tasks.update">): ClientTask {
    const held = this.#tasks.get(id);
    if (!held) throw new AppError("task_state", `Task not found: ${id}`);
    const { task } = held;
    if (isEnded(task)) throw conflict({ reason: "terminal", status: task.status, sequence: task.sequence });
    if (sequence !== task.sequence + 1)
      throw conflict({ reason: "sequence_mismatch", expected: task.sequence + 1, actual: sequence });
    held.task = { ...task, sequence, updatedAt: this.#now(), ...this.#changed(held, update) };
    if (update.message) held.activity.push({ message: update.message, timestamp: held.task.updatedAt });
    this.#tree.tasksChanged();
    return held.task;
  }

  async cancel(id: string, reason: "cancel_requested" | "session_shutdown"): Promise<boolean> {
    const held = this.#tasks.get(id);
    if (!held || isEnded(held.task) || !held.task.canCancel) return false;
    const { clientTaskId } = held.task;
    const cancellationId = this.#tree.root.world.newId();
    try {
      const { cancelled } = await held.client.call("tasks.cancel", {
        sessionId: this.#tree.root.id,
        id,
        clientTaskId,
        cancellationId,
        reason,
      });
      if (cancelled && !isEnded(held.task)) this.#end(held, { status: "cancelled", cancellationReason: reason });
      return cancelled;
    } catch {
      return false; // The client cannot be reached; its task becomes an orphan when it leaves.
    }
  }

  remove(id: string): boolean {
    const held = this.#tasks.get(id);
    return held !== undefined && isEnded(held.task) && this.#tasks.delete(id);
  }

  /** Nobody reports on the tasks of a client that has gone. */
  orphan(client: Client): void {
    for (const held of this.#tasks.values()) {
      if (held.client !== client || isEnded(held.task)) continue;
      held.task = {
        ...held.task,
        status: "orphaned",
        orphanedAt: this.#now(),
        owner: { ...held.task.owner, presence: "disconnected", disconnectedAt: this.#now() },
      };
    }
    this.#tree.tasksChanged();
  }

  #reclaim(held: Held, client: Client) {
    const wasOrphan = held.task.status === "orphaned";
    held.client = client;
    if (wasOrphan) {
      held.task = {
        ...held.task,
        status: "running",
        reclaimedAt: this.#now(),
        owner: { ...held.task.owner, participantId: client.id, joinId: client.id, presence: "connected" },
      };
      this.#tree.tasksChanged();
    }
    return { task: held.task, created: false, reclaimed: wasOrphan };
  }

  #changed(held: Held, update: Update): Partial<ClientTask> {
    switch (update.kind) {
      case "progress":
        if (update.phase !== undefined) held.phase = update.phase ?? undefined;
        if (update.percentage !== undefined) held.percentage = update.percentage ?? undefined;
        return update.status ? { status: update.status } : {};
      case "completed":
        return {
          status: "completed",
          completedAt: this.#now(),
          ...(update.result === undefined ? {} : { result: update.result }),
        };
      case "failed":
        return {
          status: "failed",
          completedAt: this.#now(),
          error: update.error,
          ...(update.code ? { errorCode: update.code } : {}),
        };
      case "cancelled":
        return {
          status: "cancelled",
          completedAt: this.#now(),
          ...(update.reason ? { cancellationReason: update.reason } : {}),
        };
    }
  }

  #end(held: Held, change: Partial<ClientTask>): void {
    held.task = { ...held.task, ...change, completedAt: this.#now(), updatedAt: this.#now() };
    this.#tree.tasksChanged();
  }

  #now(): string {
    return new Date(this.#tree.root.world.now()).toISOString();
  }
}

function isEnded({ status }: ClientTask): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

function conflict(data: object): AppError {
  return new AppError("task_conflict", "TASK_CONFLICT", { data });
}
