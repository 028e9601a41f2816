/**
 * The registry of sub-agents of one session tree: the one way to start them, their states, their results, their end.
 *
 * Owns task records, waiters, follow-up messages, promotion and cancellation by subtree. A record changes in the same transaction as the
 * events that tell of it. How a child session is put together is the host's business (`AgentHost`).
 */
import { AppError, messageOf } from "@retinue/protocol";
import type { AgentDefinition } from "../agents/definition.ts";
import type { Agent } from "../loop/agent.ts";
import type { RunEnd } from "../loop/drive.ts";
import type { Runner } from "../loop/runner.ts";
import { Stop } from "../loop/stop.ts";
import type { Session } from "../session/session.ts";
import { agentNotice, isAbout } from "./agent-notice.ts";
import { type AgentRecord, recordKey, TASK } from "./record.ts";
import { checkMove, isEnded, type TaskStatus } from "./state.ts";

/** A child session at work. */
export interface Child {
  readonly session: Session;
  readonly agent: Agent;
  readonly runner: Runner;
  /** Used by the run so far. */
  used(): { toolCalls: number; tokens: number };
  isOverBudget(): boolean;
  /** Ends everything that belongs to the child: shells, MCP connections, timers. */
  close(): Promise<void>;
}

export interface Spawn {
  owner: Agent;
  definition: AgentDefinition;
  record: AgentRecord;
}

export interface AgentHost {
  readonly root: Session;
  /** Opens the child session: new, or from its log. */
  openChild(record: AgentRecord): Promise<Child>;
  /** The first prompt with all that stands before it: hook context, skills, inherited context. */
  firstPrompt(child: Child, record: AgentRecord, options: { signal: AbortSignal }): Promise<string>;
  /** Tells the stop hooks of an agent that ends without an answer. What they say changes nothing. */
  tellStop(child: Child, stopReason: "error" | "cancelled"): Promise<void>;
  /** The runner of the agent that owns a task, to wake it with a notice. */
  ownerRunner(ownerId: string): Runner | undefined;
  ownerSession(ownerId: string): Session | undefined;
  /** Gives an end to the calls and asks of a child session that nobody continues. */
  settleLost(record: AgentRecord): Promise<void>;
  changed(): void;
}

interface Task {
  record: AgentRecord;
  child: Child | undefined;
  opening: Promise<void> | undefined;
  /** Settles when the present run has settled. */
  run: Promise<void> | undefined;
  /** Somebody waits for the result and needs no notice. */
  waiting: number;
  waiters: Set<() => void>;
  stopReason: "timed_out" | undefined;
  /** Cancelled or set aside before its run had begun: it must not begin. */
  halt: "cancel" | "park" | undefined;
  /** Aborted with `halt`, for what comes before the run. */
  starting: AbortController;
  timer: NodeJS.Timeout | undefined;
}

export type Waited = { type: "turn" | "ended" | "promoted" | "timeout"; record: AgentRecord };

export class AgentTasks {
  readonly #host: AgentHost;
  readonly #tasks = new Map<string, Task>();

  constructor(host: AgentHost) {
    this.#host = host;
  }

  get records(): readonly AgentRecord[] {
    return [...this.#tasks.values()].map(({ record }) => record);
  }

  get(id: string): AgentRecord | undefined {
    return this.#tasks.get(id)?.record;
  }

  child(id: string): Child | undefined {
    return this.#tasks.get(id)?.child;
  }

  byCall(ownerId: string, callId: string): AgentRecord | undefined {
    for (const { record } of this.#tasks.values()) {
      if (record.ownerId === ownerId && record.callId === callId) return record;
    }
    return undefined;
  }

  /** Whether work goes on that nobody waits for in a call. */
  hasBackground(ownerId: string): boolean {
    for (const { record } of this.#tasks.values()) {
      if (record.ownerId === ownerId && record.mode === "background" && record.status === "running") return true;
    }
    return false;
  }

  /** Takes over a record of an earlier process as it stands. */
  adopt(record: AgentRecord): void {
    this.#tasks.set(record.id, newTask(record));
  }

  /** Records the start, then works. Returns at once. */
  async start(record: AgentRecord): Promise<void> {
    const task = newTask(record);
    this.#tasks.set(record.id, task);
    this.#save(task);
    this.#host.changed();
    try {
      await this.#open(task);
    } catch (error) {
      record.hasEnded = true; // Nobody was told of a start, so nobody is told of an end.
      this.#endFailed(task, messageOf(error));
      throw error;
    }
    this.#begin(task, () => this.#firstRun(task));
  }

  /** Goes on with a run that another process left, unless it goes on already; so do the background agents below it. */
  async continue(id: string): Promise<void> {
    const task = this.#task(id);
    if (task.record.status !== "running" || task.run || task.halt === "cancel") return;
    unhalt(task);
    await this.#open(task);
    if (task.run) return; // Somebody else wanted the same.
    this.#begin(task, () => (this.#hasPrompt(task) ? this.#continuedRun(task) : this.#firstRun(task)));
    const below = this.records.filter(
      (record) => record.ownerId === id && record.mode === "background" && record.status === "running",
    );
    for (const record of below) await this.continue(record.id);
  }

  async #open(task: Task): Promise<void> {
    if (task.child) return;
    task.opening ??= this.#openNew(task).finally(() => {
      task.opening = undefined;
    });
    await task.opening;
  }

  async #openNew(task: Task): Promise<void> {
    const child = await this.#host.openChild(task.record);
    if (task.halt) await child.close();
    else task.child = child; // Before the opening counts as done, so that nobody opens it a second time.
  }

  /** A start that is under way comes to its own end first: no agent ends before it has started. */
  async #opened({ opening }: Task): Promise<void> {
    await opening?.catch(() => undefined); // Whoever opens it is told.
  }

  /** A follow-up message; wakes an idle agent. */
  async send(id: string, message: string, source: string): Promise<void> {
    const task = this.#task(id);
    if (isEnded(task.record.status))
      throw new AppError(
        "task_state",
        `Agent ${id} has ended (${task.record.status}) and takes no more messages. Start a new one.`,
      );
    if (!task.record.isMultiTurn && task.record.hasEnded)
      throw new AppError("task_state", `Agent ${id} takes no more messages.`);
    if (task.record.status === "idle") unhalt(task);
    await this.#open(task);
    const { inbox, world } = this.#childOf(task).session;
    inbox.add({ kind: "prompt", id: world.newId(), messageId: world.newId(), prompt: message, source });
    task.record.prompt = message;
    if (task.record.status === "running") {
      this.#save(task);
      return;
    }
    task.record.mode = "background"; // However it was started, nobody waits for it in a call now.
    this.#move(task, "running");
    this.#begin(task, () => this.#nextRun(task, message));
    this.#host.changed();
  }

  /** Waits for a new turn, the end, a promotion or the time limit, whichever comes first. */
  async wait(
    id: string,
    {
      afterTurns,
      timeoutMs,
      signal,
      forPromotion = false,
    }: { afterTurns: number; timeoutMs?: number; signal: AbortSignal; forPromotion?: boolean },
  ): Promise<Waited> {
    const task = this.#task(id);
    task.waiting++;
    const { record } = task;
    const startedAs = record.mode;
    let isTimeOver = false;
    let wake: () => void = () => undefined;
    const onAbort = () => wake();
    const onTimeOver = () => {
      isTimeOver = true;
      wake();
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeOver, timeoutMs);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        if (isEnded(record.status)) return { type: "ended", record };
        if (record.turns.length > afterTurns && record.status !== "running") return { type: "turn", record };
        if (forPromotion && record.mode !== startedAs) return { type: "promoted", record };
        if (isTimeOver) return { type: "timeout", record };
        await new Promise<void>((resolve) => {
          wake = resolve;
          task.waiters.add(resolve);
        });
      }
    } finally {
      task.waiting--;
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      this.#dropNotice(task);
    }
  }

  promote(id: string): boolean {
    const task = this.#tasks.get(id);
    if (task?.record.status !== "running" || task.record.mode !== "sync") return false;
    task.record.mode = "background";
    this.#save(task);
    this.#wake(task);
    this.#host.changed();
    return true;
  }

  /** Ends a task and everything below it. False when it had ended already. */
  async cancel(id: string, reason = "cancelled"): Promise<boolean> {
    const task = this.#tasks.get(id);
    if (!task || isEnded(task.record.status)) return false;
    const below = this.records
      .filter((record) => record.ownerId === id)
      .map((record) => this.cancel(record.id, reason));
    if (task.record.status === "idle") await this.#closeCancelled(task);
    else {
      halt(task, "cancel");
      await this.#opened(task);
      await task.child?.runner.stop(new Stop("cancel", reason));
      await task.run;
      if (!isEnded(task.record.status)) await this.#closeCancelled(task); // It had not begun to run.
    }
    await Promise.all(below);
    this.#host.changed();
    return true;
  }

  /** Sets running tasks aside for a later process, and closes the idle ones' resources. Nothing keeps running here. */
  async park(): Promise<void> {
    await Promise.all(
      [...this.#tasks.values()].map(async (task) => {
        clearTimeout(task.timer);
        halt(task, "park");
        this.#wake(task);
        await this.#opened(task);
        await task.child?.runner.stop(new Stop("shutdown", "session closed"));
        await task.run;
        await task.child?.close();
        task.child = undefined;
      }),
    );
  }

  remove(id: string): boolean {
    const task = this.#tasks.get(id);
    if (!task || !isEnded(task.record.status)) return false;
    this.#tasks.delete(id);
    return true;
  }

  /** A task whose start was cut from the log. */
  forget(id: string): void {
    this.#tasks.delete(id);
  }

  /** Resolves when no task runs. */
  async settled(): Promise<void> {
    for (;;) {
      const running = [...this.#tasks.values()].filter(({ record, halt }) => record.status === "running" && !halt);
      if (running.length === 0) return;
      await Promise.all(running.map((task) => this.#change(task)));
    }
  }

  /** A task that will never be continued: its end is recorded now. */
  async lose(id: string, error: string): Promise<void> {
    const task = this.#task(id);
    if (isEnded(task.record.status)) return;
    for (const record of this.records.filter(({ ownerId }) => ownerId === id)) await this.lose(record.id, error);
    await this.#host.settleLost(task.record);
    if (isEnded(task.record.status)) return;
    this.#endFailed(task, error, "lost");
    this.#notifyOwner(task);
  }

  #begin(task: Task, work: () => Promise<void>): void {
    const { maxSeconds } = task.record.budget;
    if (maxSeconds !== undefined) {
      task.timer = setTimeout(() => {
        task.stopReason = "timed_out";
        void task.child?.runner.stop(new Stop("cancel", "timed_out"));
      }, maxSeconds * 1000);
    }
    task.record.activeSince = task.child?.session.world.now();
    task.run = work()
      .catch((error: unknown) => {
        if (!isEnded(task.record.status)) this.#endFailed(task, messageOf(error));
      })
      .finally(() => {
        clearTimeout(task.timer);
        task.run = undefined;
        this.#host.changed();
      });
  }

  async #firstRun(task: Task): Promise<void> {
    if (task.halt) return this.#halted(task);
    const child = this.#childOf(task);
    const { inbox, world, root, parent } = child.session;
    const prompt = await this.#host.firstPrompt(child, task.record, task.starting);
    if (task.halt) return this.#halted(task);
    const source = `agent-${parent?.id ?? root.id}`;
    inbox.add({
      kind: "prompt",
      id: world.newId(),
      messageId: world.newId(),
      prompt,
      displayPrompt: task.record.prompt,
      source,
    });
    child.runner.wake();
    await this.#finish(task, await this.#runEnd(task));
  }

  async #continuedRun(task: Task): Promise<void> {
    if (task.halt) return this.#halted(task);
    this.#childOf(task).runner.continuePending();
    await this.#finish(task, await this.#runEnd(task));
  }

  async #nextRun(task: Task, message: string): Promise<void> {
    this.#childOf(task).runner.wake();
    await this.#finish(task, await this.#runEnd(task), message);
  }

  /** Stopped before it began: a cancelled task ends, one that was set aside stays as it is for a later process. */
  async #halted(task: Task): Promise<void> {
    if (task.halt === "cancel" && !isEnded(task.record.status)) await this.#closeCancelled(task);
    this.#wake(task);
  }

  /** The end of the run, after the agent has taken what its own background agents brought. */
  async #runEnd(task: Task): Promise<RunEnd | undefined> {
    const { runner, session } = this.#childOf(task);
    // Nothing was left to do: an earlier process came to the end and could not tell of it.
    let end: RunEnd | undefined = (await runner.ended()) ?? leftEnd(session);
    while (end?.type === "completed" && !task.halt) {
      const own = [...this.#tasks.values()].filter(
        ({ record }) => record.ownerId === task.record.id && record.status === "running",
      );
      if (own.length === 0 && !runner.isRunning) return end;
      await Promise.all(own.map((each) => this.#change(each)));
      end = (await runner.ended()) ?? end;
    }
    return end;
  }

  /** Resolves when the run of a task has settled, or something else has happened to it. */
  async #change(task: Task): Promise<void> {
    await (task.run ?? new Promise<void>((resolve) => task.waiters.add(resolve)));
  }

  #childOf({ child, record }: Task): Child {
    if (!child) throw new AppError("task_state", `Agent ${record.id} is not open`);
    return child;
  }

  #hasPrompt({ child }: Task): boolean {
    return child !== undefined && (child.session.state.messages.length > 0 || !child.session.inbox.isEmpty);
  }

  async #finish(task: Task, end: RunEnd | undefined, message?: string): Promise<void> {
    const { record } = task;
    if (task.halt === "park" || (end?.type === "stopped" && end.stop.isParked)) return;
    await this.#cancelBelow(task);
    // An agent that answered has asked its stop hooks already; the others are told that it stops.
    if (end?.type !== "completed" && task.child)
      await this.#host.tellStop(task.child, end?.type === "failed" ? "error" : "cancelled");
    const isSpent = task.child?.isOverBudget() === true;
    if (end?.type === "stopped" || end === undefined || task.halt === "cancel") this.#endStopped(task, end?.text ?? "");
    else if (isSpent) this.#endFailed(task, "The budget is used up.", "over_budget", end.text);
    else if (end.type === "failed") this.#endFailed(task, end.error, undefined, end.text);
    else if (end.text.trim() === "") this.#endFailed(task, "The agent ended without an answer.");
    else this.#answer(task, end.text, message);
    if (isEnded(record.status)) {
      await task.child?.close();
      task.child = undefined;
    }
    // The news is in the owner's inbox before anybody may think that nothing is left to do.
    this.#notifyOwner(task);
    this.#wake(task);
    this.#host.changed();
  }

  /** What still runs below an agent that has ended ends with it. */
  async #cancelBelow({ record: { id } }: Task): Promise<void> {
    const own = this.records.filter(({ ownerId, status }) => ownerId === id && !isEnded(status));
    await Promise.all(own.map((record) => this.cancel(record.id, "parent ended")));
  }

  #answer(task: Task, response: string, message: string | undefined): void {
    const { record } = task;
    record.turns.push({ ...(message === undefined ? {} : { message }), response });
    this.#pauseClock(task);
    if (!record.hasEnded) {
      record.hasEnded = true;
      task.child?.session.append("subagent.completed", this.#ended(task));
    }
    this.#move(task, record.isMultiTurn ? "idle" : "completed");
  }

  #endStopped(task: Task, text: string): void {
    if (task.stopReason === "timed_out")
      this.#endFailed(task, `The agent was stopped after ${task.record.budget.maxSeconds} s.`, "timed_out", text);
    else this.#endCancelled(task);
  }

  async #closeCancelled(task: Task): Promise<void> {
    if (!task.child) await this.#host.settleLost(task.record); // Left by another process, and not opened again here.
    if (isEnded(task.record.status)) return; // Somebody else has ended it meanwhile.
    this.#endCancelled(task);
    await task.child?.close();
    task.child = undefined;
    this.#wake(task);
  }

  #endCancelled(task: Task): void {
    this.#pauseClock(task);
    if (!task.record.hasEnded) {
      task.record.hasEnded = true;
      this.#session(task)?.append("subagent.completed", { ...this.#ended(task), cancelled: true });
    }
    this.#end(task, "cancelled");
  }

  #endFailed(task: Task, error: string, reason?: AgentRecord["reason"], partial?: string): void {
    const { record } = task;
    this.#pauseClock(task);
    record.error = error;
    if (reason) record.reason = reason;
    if (partial) record.turns.push({ response: partial });
    if (!record.hasEnded) {
      record.hasEnded = true;
      this.#session(task)?.append("subagent.failed", { ...this.#ended(task), error, ...(reason ? { reason } : {}) });
    }
    if (record.status === "idle") this.#move(task, "running");
    this.#end(task, "failed");
    this.#wake(task);
  }

  #end(task: Task, status: TaskStatus): void {
    task.record.completedAt = this.#host.root.world.now();
    this.#move(task, status);
  }

  #move(task: Task, to: TaskStatus): void {
    const { record } = task;
    checkMove(record.id, record.status, to);
    record.status = to;
    if (to === "idle") record.idleSince = this.#host.root.world.now();
    else record.idleSince = undefined;
    this.#save(task);
  }

  #pauseClock({ record }: Task): void {
    if (record.activeSince !== undefined) record.activeMs += this.#host.root.world.now() - record.activeSince;
    record.activeSince = undefined;
  }

  #ended({ record, child }: Task) {
    const used = child?.used() ?? { toolCalls: 0, tokens: 0 };
    return {
      toolCallId: record.callId,
      agentName: record.agentType,
      agentDisplayName: record.displayName,
      model: record.model,
      firstDispatchedModel: record.model,
      ...(record.modelSelectionSource ? { modelSelectionSource: record.modelSelectionSource } : {}),
      totalToolCalls: used.toolCalls,
      totalTokens: used.tokens,
      durationMs: record.activeMs,
    };
  }

  /** The session to tell an end in: the child's own, or the owner's when the child never opened. */
  #session(task: Task): Pick<Session, "append"> | undefined {
    const { log } = this.#host.root;
    return task.child?.session ?? { append: (type, data) => log.append(type, data, { sessionId: task.record.id }) };
  }

  /** A background agent's news reach the one who started it once: not when somebody is waiting for them in a call. */
  #notifyOwner(task: Task): void {
    const { record } = task;
    if (record.mode !== "background" || task.waiting > 0 || record.status === "cancelled") return;
    const owner = this.#host.ownerSession(record.ownerId);
    if (!owner) return;
    owner.inbox.add(agentNotice(record, owner.world));
    this.#host.ownerRunner(record.ownerId)?.wake();
  }

  #dropNotice({ record }: Task): void {
    const owner = this.#host.ownerSession(record.ownerId);
    owner?.inbox.removeNotices((notice) => isAbout(notice, record.id));
  }

  #wake(task: Task): void {
    const waiters = [...task.waiters];
    task.waiters.clear();
    for (const wake of waiters) wake();
  }

  #save({ record }: Task): void {
    this.#host.root.log.changeDocument(TASK.put(recordKey(record), record));
  }

  #task(id: string): Task {
    const task = this.#tasks.get(id);
    if (!task) throw new AppError("task_state", `Agent not found: ${id}`);
    return task;
  }
}

function leftEnd({ state: { lastError, lastAssistantText } }: Session): RunEnd {
  if (lastError !== undefined) return { type: "failed", text: lastAssistantText, error: lastError };
  return { type: "completed", text: lastAssistantText };
}

function halt(task: Task, why: "cancel" | "park"): void {
  task.halt = why;
  task.starting.abort();
}

/** Set aside by this very process, which goes on with it now. */
function unhalt(task: Task): void {
  if (!task.halt) return;
  task.halt = undefined;
  task.starting = new AbortController();
}

function newTask(record: AgentRecord): Task {
  return {
    record,
    child: undefined,
    opening: undefined,
    run: undefined,
    waiting: 0,
    waiters: new Set(),
    stopReason: undefined,
    halt: undefined,
    starting: new AbortController(),
    timer: undefined,
  };
}
