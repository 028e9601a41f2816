/**
 * Work that a client does itself and reports on. It delays `session.idle` while it runs.
 *
 * Owns the sequence rule: a report counts only when its number follows that of the last report.
 */
import { AppError, type Params } from "@retinue/protocol";
import type { Session } from "../../session/session.ts";
import type { Client } from "../../tree/client.ts";
import type { Executor, RunOptions } from "../executor.ts";
import { type End, isEnded } from "../moves.ts";
import { type ClientRecord, newHead } from "../record.ts";
import type { Tasks } from "../registry.ts";
import { clientView } from "./client-view.ts";

type Update = Params<"session.tasks.update">["update"];

/** The client that does it, and how its end reaches the registry. */
interface Held {
  client: Client;
  end(end: End): void;
  /** The last report was of its end. */
  hasEnded: boolean;
}

export interface ClientWorkOptions {
  root: Session;
  /** The registry, once it exists. */
  tasks(): Tasks;
  /** Called after each report, so that task lists are refreshed. */
  onReport(): void;
}

export class ClientWork implements Executor<ClientRecord> {
  readonly kind = "client";
  readonly traits = { isKept: false, joinsOwner: false, isAddressable: false, runsHere: false, delaysIdle: true };
  readonly view = clientView;
  readonly #options: ClientWorkOptions;
  readonly #held = new Map<string, Held>();

  constructor(options: ClientWorkOptions) {
    this.#options = options;
  }

  /** A client reports new work, or claims what it or another client reported before. */
  register(
    client: Client,
    params: Params<"session.tasks.register">,
  ): { record: ClientRecord; created: boolean; reclaimed: boolean } {
    const known = this.#records().find(
      ({ id, clientTaskId, status }) =>
        clientTaskId === params.clientTaskId && (status === "orphaned" || this.#held.get(id)?.client === client),
    );
    if (known) return { record: known, created: false, reclaimed: this.#reclaim(known, client) };
    const { id: rootId, world } = this.#options.root;
    const now = world.now();
    const id = world.newId();
    const record: ClientRecord = {
      ...newHead(now),
      kind: "client",
      id,
      rootId,
      ownerId: rootId,
      callId: id,
      name: params.displayName ?? params.clientTaskId,
      description: params.description,
      agentType: "client",
      prompt: params.description,
      mode: "background",
      clientTaskId: params.clientTaskId,
      clientId: client.id,
      displayName: params.displayName,
      canCancel: params.cancellable,
      sequence: params.expectedSequence ?? 0,
      updatedAt: now,
      activity: [],
    };
    this.#held.set(id, { client, end: () => undefined, hasEnded: false });
    void this.#options.tasks().start(record);
    return { record, created: true, reclaimed: false };
  }

  /** Resolves when the report has taken effect. */
  async update({ id, sequence, update }: Params<"session.tasks.update">): Promise<ClientRecord> {
    const record = this.#records().find((each) => each.id === id);
    const held = this.#held.get(id);
    if (!record) throw new AppError("task_state", `Task not found: ${id}`);
    const { status } = record;
    if (!held || held.hasEnded || isEnded(status))
      throw conflict({ reason: "terminal", status, sequence: record.sequence });
    if (sequence !== record.sequence + 1)
      throw conflict({ reason: "sequence_mismatch", expected: record.sequence + 1, actual: sequence });
    const now = this.#options.root.world.now();
    record.sequence = sequence;
    record.updatedAt = now;
    if (update.message) record.activity.push({ message: update.message, timestamp: new Date(now).toISOString() });
    const end = this.#apply(record, update);
    if (!end) {
      this.#options.onReport();
      return record;
    }
    held.hasEnded = true;
    held.end(end);
    const { signal } = new AbortController();
    await this.#options.tasks().wait(id, { afterTurns: Number.POSITIVE_INFINITY, signal });
    return record;
  }

  /** The work of a client that has left is orphaned until another client claims it. */
  orphan(client: Client): void {
    const now = this.#options.root.world.now();
    for (const record of this.#records()) {
      if (record.clientId !== client.id || isEnded(record.status) || record.status === "orphaned") continue;
      record.orphanedAt = now;
      this.#options.tasks().records.move(record, "orphaned");
    }
    this.#options.onReport();
  }

  start(record: ClientRecord, { signal }: RunOptions): Promise<End> {
    const held = this.#held.get(record.id);
    return new Promise((resolve) => {
      if (held) held.end = resolve;
      signal.addEventListener("abort", () => resolve({ way: "cancelled" }), { once: true });
    });
  }

  async cancel(record: ClientRecord): Promise<boolean> {
    const { id, clientTaskId, canCancel } = record;
    const held = this.#held.get(id);
    if (!held || !canCancel) return false;
    const { root } = this.#options;
    const about = { sessionId: root.id, id, clientTaskId, cancellationId: root.world.newId(), reason: REASON };
    try {
      const { cancelled } = await held.client.call("tasks.cancel", about);
      if (cancelled) record.cancellationReason ??= REASON;
      return cancelled;
    } catch {
      return false; // The client cannot be reached; its task becomes an orphan when it leaves.
    }
  }

  async close({ id }: ClientRecord): Promise<void> {
    this.#held.delete(id);
  }

  #records(): readonly ClientRecord[] {
    return this.#options
      .tasks()
      .records.list()
      .filter((record) => record.kind === "client");
  }

  #reclaim(record: ClientRecord, client: Client): boolean {
    const held = this.#held.get(record.id);
    if (held) held.client = client;
    if (record.status !== "orphaned") return false;
    record.clientId = client.id;
    record.reclaimedAt = this.#options.root.world.now();
    this.#options.tasks().records.move(record, "running");
    this.#options.onReport();
    return true;
  }

  /** Applies a report to the record; returns the end when it reports one. */
  #apply(record: ClientRecord, update: Update): End | undefined {
    switch (update.kind) {
      case "progress":
        if (update.phase !== undefined) record.phase = update.phase ?? undefined;
        if (update.percentage !== undefined) record.percentage = update.percentage ?? undefined;
        if (update.status && update.status !== record.status) this.#options.tasks().records.move(record, update.status);
        return undefined;
      case "completed":
        record.result = update.result;
        return { way: "completed" };
      case "failed":
        record.errorCode = update.code;
        return { way: "failed", error: update.error };
      case "cancelled":
        record.cancellationReason = update.reason;
        return { way: "cancelled" };
    }
  }
}

const REASON = "cancel_requested" as const;

function conflict(data: object): AppError {
  return new AppError("task_conflict", "TASK_CONFLICT", { data });
}
