/**
 * The task registry of one session tree: every piece of work that has an id and outlives its call, whatever its kind.
 *
 * Owns starts, ends, waiting, messages, promotion and cancellation by subtree. The records are in records.ts, the work itself is in
 * executors/, and the engine decides where it runs. A record is saved in the same transaction as the events of its change.
 */
import { AppError, messageOf } from "@retinue/protocol";
import type { Session } from "../session/session.ts";
import { Stop } from "../session/stop.ts";
import { type Engine, type EngineFor, type How, localEngine } from "./engine.ts";
import type { Executor, Mailbox } from "./executor.ts";
import type { Executors } from "./kinds.ts";
import { endOf, type Live, newLive, noteEnd } from "./live.ts";
import { addMessage, checkTakesMessages, hasMessage, type Message, recordNext, withUnread } from "./messages.ts";
import { ENDS, type End, Ending, isEnded } from "./moves.ts";
import { Notices } from "./notices.ts";
import type { TaskRecord } from "./record.ts";
import { TaskRecords } from "./records.ts";
import { type Waited, type WaitOptions, waitFor } from "./wait-for.ts";

export interface TasksOptions {
  root: Session;
  /** In the order in which tasks are listed. */
  executors: Executors;
  /** The agent that owns tasks, while it is open: the main agent, or a sub-agent. */
  mailboxOf(ownerId: string): Mailbox | undefined;
  /** A task started, went on or ended. */
  onChanged(): void;
  engine?: EngineFor;
}

export class Tasks {
  readonly records: TaskRecords;
  readonly #options: TasksOptions;
  readonly #engine: Engine;
  readonly #notices: Notices;
  readonly #live = new Map<string, Live>();

  constructor(options: TasksOptions) {
    const { root, executors, engine = localEngine } = options;
    this.#options = options;
    this.records = new TaskRecords({
      log: root.log,
      world: root.world,
      kinds: Object.values(executors).map(({ kind }) => kind),
      isKept: (kind) => executors[kind].traits.isKept,
      delaysIdle: (kind) => executors[kind].traits.delaysIdle,
    });
    this.#notices = new Notices({
      ...options,
      records: this.records,
      executorOf: (record) => this.executorOf(record),
    });
    this.#engine = engine({ rootId: root.id, worker: (id, how, { signal }) => this.#perform(id, how, signal) });
  }

  executorOf(record: TaskRecord): Executor {
    return this.#options.executors[record.kind];
  }

  /** Records the start, then starts the work. Returns when it runs; at once for kinds that need not be opened. */
  async start(record: TaskRecord): Promise<void> {
    this.records.add(record);
    this.#live.delete(record.id); // An alias may be reused once its task has ended.
    const live = this.#get(record.id);
    const { open, traits } = this.executorOf(record);
    if (traits.joinsOwner || record.mode === "background") this.#changed(record);
    if (open) {
      try {
        await this.#open(live, { isNew: true });
      } catch (error) {
        this.#record(live, { way: "failed", error: messageOf(error) });
        live.waiting.wake();
        throw error;
      }
    }
    this.records.save(record); // One that is opened has been saved with its start event: a crash before that leaves nothing.
    this.#begin(live, "start");
  }

  /** Continues a run that another process left, unless it runs already, and the background tasks that it owns. */
  async continue(id: string): Promise<void> {
    const live = this.#get(id);
    const { record } = live;
    if (record.status !== "running" || this.#engine.running(id) || live.ending.end) return;
    live.isParked = false;
    await this.#open(live);
    if (this.#engine.running(id)) return; // Another caller has continued it meanwhile.
    this.#begin(live, "continue");
    this.#changed(record); // The session is at work again, also when its main agent rests.
    for (const owned of this.records.ownedBy(id)) {
      if (owned.mode === "background" && owned.status === "running") await this.continue(owned.id);
    }
  }

  /** Sends a follow-up message: wakes an idle task, or waits until the current run has answered. */
  async send(id: string, message: Message): Promise<void> {
    const live = this.#get(id);
    const { record } = live;
    const executor = this.executorOf(record);
    const canTake = executor.message !== undefined || executor.steer !== undefined;
    checkTakesMessages(live, canTake);
    if (executor.steer) return await executor.steer(record, message);
    if (record.status !== "running") {
      live.isParked = false;
      live.ending = new Ending();
      await this.#open(live);
      checkTakesMessages(live, canTake); // It may have been closed meanwhile.
    }
    addMessage(record, message);
    if (record.status === "running") return this.records.save(record);
    recordNext(record, { executor, records: this.records });
    this.#begin(live, "continue");
    this.#changed(record);
  }

  /** Waits for a new turn, the end, a promotion or the time limit. */
  async wait(id: string, options: WaitOptions): Promise<Waited> {
    const live = this.#get(id);
    try {
      return await waitFor(live, options);
    } finally {
      if (!options.isBystander) this.#notices.drop(live.record);
    }
  }

  promote(id: string): boolean {
    const record = this.records.get(id);
    if (record?.status !== "running" || record.mode !== "sync") return false;
    record.mode = "background";
    this.records.save(record);
    this.executorOf(record).promoted?.(record);
    this.#get(id).waiting.wake();
    this.#changed(record);
    return true;
  }

  /** Ends a task and everything below it. False when it had ended already, or its client goes on with it. */
  async cancel(id: string, reason = "cancelled"): Promise<boolean> {
    const record = this.records.get(id);
    if (!record || isEnded(record.status)) return false;
    const live = this.#get(id);
    const executor = this.executorOf(record);
    if (executor.cancel && !(await executor.cancel(record, reason))) return false;
    const below = this.records.ownedBy(id).map((owned) => this.cancel(owned.id, reason));
    live.ending.claim({ way: record.status === "idle" && record.isMultiTurn ? "closed" : "cancelled" });
    await this.#opened(live);
    await this.#engine.stop(id, new Stop("cancel", reason));
    await this.#endUnlessEnded(live); // It was idle, or its run had not begun.
    await Promise.all(below);
    this.#changed(record);
    return true;
  }

  /** Parks running tasks for a later process, and closes what the others have open. Nothing keeps running here. */
  async park({ isClosing = false }: { isClosing?: boolean } = {}): Promise<void> {
    if (isClosing) this.#notices.close();
    const kept = this.records.list().filter((record) => this.executorOf(record).traits.isKept);
    await Promise.all(
      kept.map(async (record) => {
        const live = this.#get(record.id);
        live.isParked = true;
        live.waiting.wake();
        await this.#opened(live);
        await this.#engine.stop(record.id, new Stop("shutdown", "session closed"));
        await this.executorOf(record).close?.(record);
      }),
    );
  }

  /** Records the end of a task that will never be continued. */
  async lose(id: string, error: string): Promise<void> {
    const live = this.#get(id);
    if (isEnded(live.record.status)) return;
    for (const owned of this.records.ownedBy(id)) await this.lose(owned.id, error);
    live.ending.claim({ way: "lost", error });
    await this.#endUnlessEnded(live);
  }

  /** Removes an ended task from the list; any task when it was cut from the log. */
  remove(id: string, { isCut = false }: { isCut?: boolean } = {}): boolean {
    const record = this.records.get(id);
    if (!record || !(isCut || isEnded(record.status))) return false;
    this.#live.delete(id);
    return this.records.drop(id);
  }

  /** Resolves when no task of this runtime runs. */
  async settled(): Promise<void> {
    for (;;) {
      const running = this.records.list().filter((record) => this.#isPending(record));
      if (running.length === 0) return;
      await Promise.all(running.map(({ id }) => this.#change(id)));
    }
  }

  #isPending(record: TaskRecord): boolean {
    const isOurs = this.executorOf(record).traits.runsHere && record.isDetached !== true;
    return isOurs && record.status === "running" && !this.#get(record.id).isParked;
  }

  async #open(live: Live, { isNew = false }: { isNew?: boolean } = {}): Promise<void> {
    const executor = this.executorOf(live.record);
    const options = { isNew, signal: live.ending.signal };
    live.opening ??= (executor.open?.(live.record, options) ?? Promise.resolve()).finally(() => {
      live.opening = undefined;
    });
    await live.opening;
    if (live.ending.end || live.isParked) await executor.close?.(live.record);
  }

  /** Waits for a start that is under way: no task ends before it has started. */
  async #opened({ opening }: Live): Promise<void> {
    await opening?.catch(() => undefined); // The caller of `start` gets the error.
  }

  #begin(live: Live, how: How): void {
    const { record } = live;
    live.hasNext = false;
    record.activeSince = this.#options.root.world.now();
    void this.#engine.run(record.id, how).then(() => {
      if (live.hasNext) this.#begin(live, "continue");
      if (this.executorOf(record).traits.joinsOwner) this.#changed(record);
    });
  }

  /** One run, called by the engine. */
  async #perform(id: string, how: How, signal: AbortSignal): Promise<void> {
    const live = this.#get(id);
    const { record } = live;
    const executor = this.executorOf(record);
    try {
      if (live.ending.end && !live.isParked) await this.#endUnlessEnded(live); // Cancelled before it began.
      if (live.ending.end || live.isParked) return live.waiting.wake();
      await this.#finish(live, await this.#run(live, how, signal));
    } catch (error) {
      if (!isEnded(record.status)) this.#record(live, { way: "failed", error: messageOf(error) });
      await executor.close?.(record);
      live.waiting.wake();
    }
  }

  /** The end of a run. One that throws has failed: it ends, and its owner is notified, like any other. */
  async #run({ record }: Live, how: How, signal: AbortSignal): Promise<End | undefined> {
    const executor = this.executorOf(record);
    const options = { signal, joining: () => this.#joining(record.id) };
    try {
      return await (how === "start" ? executor.start(record, options) : executor.continue?.(record, options));
    } catch (error) {
      return { way: "failed", error: messageOf(error) };
    }
  }

  async #finish(live: Live, ofRun: End | undefined): Promise<void> {
    const { record } = live;
    const executor = this.executorOf(record);
    if (live.isParked || !endOf(live, ofRun)) return;
    await this.#cancelBelow(record);
    const expected = endOf(live, ofRun);
    if (expected) await executor.ending?.(record, expected, { signal: live.ending.lastWords() });
    const end = endOf(live, ofRun); // It may have been cancelled in the meantime.
    if (!end || isEnded(record.status)) return;
    this.#record(live, end);
    // In the tick and commit of the end: in between, the owner would look as if nothing were left to do, and a crash would lose them.
    this.#notices.notify(live);
    live.hasNext = recordNext(record, { executor, records: this.records });
    if (isEnded(record.status)) await executor.close?.(record);
    live.waiting.wake();
    this.#changed(record);
  }

  async #cancelBelow({ id }: TaskRecord): Promise<void> {
    const open = this.#joined(id).filter(({ status }) => !isEnded(status));
    await Promise.all(open.map((owned) => this.cancel(owned.id, "parent ended")));
  }

  /** Ends a task that has no run. */
  async #endUnlessEnded(live: Live): Promise<void> {
    if (isEnded(live.record.status)) return;
    live.settling ??= this.#settle(live, live.ending.end ?? { way: "cancelled" }).finally(() => {
      live.settling = undefined;
    });
    await live.settling;
  }

  async #settle(live: Live, end: End): Promise<void> {
    const { record } = live;
    const executor = this.executorOf(record);
    await executor.ending?.(record, end, { signal: live.ending.lastWords() });
    if (isEnded(record.status)) return;
    this.#record(live, end);
    if (end.way === "lost") this.#notices.notify(live); // Whoever cancels a task knows that it has ended.
    await executor.close?.(record);
    live.waiting.wake();
  }

  /** Puts the end into the record and the log, in one transaction. */
  #record({ record }: Live, ofRun: End): void {
    const now = this.#options.root.world.now();
    const end = withUnread(ofRun, record);
    noteEnd(record, end, now);
    this.executorOf(record).ended?.(record, end);
    const staysOpen = end.way === "completed" && (record.isMultiTurn || hasMessage(record));
    if (!staysOpen) Object.assign(record, { completedAt: now, waiting: undefined });
    this.records.move(record, staysOpen ? "idle" : ENDS[end.way].status);
  }

  #joined(ownerId: string): readonly TaskRecord[] {
    return this.records.ownedBy(ownerId).filter((record) => this.executorOf(record).traits.joinsOwner);
  }

  /** Resolves when one of the tasks that an owner must wait for has changed; undefined when there are none. */
  #joining(ownerId: string): Promise<unknown> | undefined {
    const running = this.#joined(ownerId).filter(({ status }) => status === "running");
    return running.length === 0 ? undefined : Promise.all(running.map(({ id }) => this.#change(id)));
  }

  /** Resolves when the run of a task has settled, or the task has changed otherwise. */
  async #change(id: string): Promise<void> {
    await (this.#engine.running(id) ?? this.#get(id).waiting.change());
  }

  /** Tasks of a sub-agent that it does not wait for are not reported. */
  #changed(record: TaskRecord): void {
    if (this.executorOf(record).traits.joinsOwner || record.ownerId === record.rootId) this.#options.onChanged();
  }

  #get(id: string): Live {
    const known = this.#live.get(id);
    if (known) return known;
    const record = this.records.get(id);
    if (!record) throw new AppError("task_state", `Agent not found: ${id}`);
    const live = newLive(record);
    this.#live.set(id, live);
    return live;
  }
}
