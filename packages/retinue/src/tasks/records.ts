/**
 * The records of all tasks of one session tree: found by id, by call or by owner, and saved with the events of the change.
 *
 * Owns the order in which tasks are listed: by kind, in the order of the executors, then by start.
 */
import type { Log } from "../session/log.ts";
import type { World } from "../world.ts";
import { checkMove, type TaskStatus } from "./moves.ts";
import { isBackground, recordKey, TASK, type TaskKind, type TaskRecord } from "./record.ts";

export interface TaskRecordsOptions {
  log: Log;
  world: World;
  /** In the order in which their tasks are listed. */
  kinds: readonly TaskKind[];
  isKept(kind: TaskKind): boolean;
  delaysIdle(kind: TaskKind): boolean;
}

export class TaskRecords {
  readonly #options: TaskRecordsOptions;
  readonly #byId = new Map<string, TaskRecord>();
  readonly #byOwner = new Map<string, Map<string, TaskRecord>>();
  /** A session may have thousands of old tasks; what asks about running ones must not look at those. */
  readonly #running = new Set<TaskRecord>();

  constructor(options: TaskRecordsOptions) {
    this.#options = options;
  }

  list(): readonly TaskRecord[] {
    const all = [...this.#byId.values()];
    return this.#options.kinds.flatMap((kind) => all.filter((record) => record.kind === kind));
  }

  get(id: string): TaskRecord | undefined {
    return this.#byId.get(id);
  }

  /** By id or alias. Several agents may use one alias; the main agent's task is found first. */
  find(id: string, matches: (record: TaskRecord) => boolean = () => true): TaskRecord | undefined {
    const known = this.#byId.get(id);
    if (known && matches(known)) return known;
    const called = this.list().filter((record) => record.alias === id && matches(record));
    return called.find(({ ownerId, rootId }) => ownerId === rootId) ?? called[0];
  }

  byCall(ownerId: string, callId: string): TaskRecord | undefined {
    for (const record of this.#ownedBy(ownerId)) if (record.callId === callId) return record;
    return undefined;
  }

  ownedBy(ownerId: string): readonly TaskRecord[] {
    return [...this.#ownedBy(ownerId)];
  }

  /** From the main agent's child down to this task. */
  pathOf(record: TaskRecord): TaskRecord[] {
    const owner = this.#byId.get(record.ownerId);
    return owner ? [...this.pathOf(owner), record] : [record];
  }

  /** Whether there is running work that no call waits for, and that comes to an end by itself. */
  hasBackground(ownerId: string): boolean {
    const { delaysIdle } = this.#options;
    for (const record of this.#running)
      if (record.ownerId === ownerId && isBackground(record) && delaysIdle(record.kind)) return true;
    return false;
  }

  /** Adds a record: a new one, or one of an earlier process. */
  add(record: TaskRecord): void {
    this.drop(record.id);
    this.#byId.set(record.id, record);
    const owned = this.#byOwner.get(record.ownerId) ?? new Map<string, TaskRecord>();
    this.#byOwner.set(record.ownerId, owned.set(record.id, record));
    this.#noteRunning(record);
  }

  move(record: TaskRecord, to: TaskStatus): void {
    checkMove(record.id, record.status, to);
    record.status = to;
    this.#noteRunning(record);
    record.idleSince = to === "idle" ? this.#options.world.now() : undefined;
    this.save(record);
  }

  /** Written with the events of this tick, in one transaction. */
  save(record: TaskRecord): void {
    const { log, isKept } = this.#options;
    if (isKept(record.kind)) log.changeDocument(TASK.put(recordKey(record), record));
  }

  drop(id: string): boolean {
    const record = this.#byId.get(id);
    if (!record) return false;
    const owned = this.#byOwner.get(record.ownerId);
    owned?.delete(id);
    if (owned?.size === 0) this.#byOwner.delete(record.ownerId);
    this.#running.delete(record);
    return this.#byId.delete(id);
  }

  /** Whether anything runs, background shells included. */
  get isBusy(): boolean {
    for (const record of this.#running) if (record.isDetached !== true) return true;
    return false;
  }

  #ownedBy(ownerId: string): Iterable<TaskRecord> {
    return this.#byOwner.get(ownerId)?.values() ?? [];
  }

  #noteRunning(record: TaskRecord): void {
    if (record.status === "running") this.#running.add(record);
    else this.#running.delete(record);
  }
}
