/**
 * A fleet at work: todos that are ready get an agent, up to the limit, until nothing can be started and nothing runs.
 *
 * Owns the order of a step: what has ended is recorded, then shown in the tables, then the next agents start. The record of an agent is
 * the lease of its todo, so a restart finds what runs and starts nothing twice. Who starts agents is behind `Crew`, which tests replace.
 */
import { wordsFor } from "./agent-prompt.ts";
import { type Progress, Schedule, type Standing } from "./schedule.ts";
import { isShown, type Run, type RunEnd } from "./todo-run.ts";
import type { Brief, Change, TodoGraph, TodoRow, TodoTable } from "./todo-table.ts";

/** The agents of a fleet. */
export interface Crew {
  /** The latest run of each todo, those of an earlier process included. */
  runs(): readonly Run[];
  /** Starts the agent of a todo, unless that is refused. */
  start(
    brief: Brief,
    how: { attempt: number; prompt: string },
  ): Promise<{ agentId: string } | { agentId?: string; refused: string }>;
  /** Goes on with an agent that runs, or waits for it. Settles when it has ended. */
  ended(agentId: string): Promise<RunEnd>;
  cancel(agentId: string): Promise<void>;
}

export interface FleetRunOptions {
  table: TodoTable;
  crew: Crew;
  maxConcurrent: number;
  retries: number;
  /** Todos that the fleet leaves alone. */
  isOutside(row: TodoRow): boolean;
  /** The fleet is being cancelled, and its agents with it: what these come to says nothing about their todos. */
  isStopping(): boolean;
  /** Resolves when all that happened is in the store. */
  recorded(): Promise<void>;
  /** The tables have changed. */
  onWritten(): void;
  onProgress(progress: Progress): void;
}

export class FleetRun {
  readonly #options: FleetRunOptions;
  #schedule = new Schedule({ todos: new Map(), deps: [] });
  readonly #runs = new Map<string, Run>();
  /** Agents that run or start now, by todo. */
  readonly #busy = new Map<string, Promise<void>>();
  #changes: Change[] = [];
  #ends: Run[] = [];
  readonly #unreadable = new Set<string>();
  /** By todo, the attempt up to which the tables have the say: its end was shown there, or its todo was removed. */
  readonly #over = new Map<string, number>();
  #isStale = true;
  #counts = "";
  #wake = () => {};

  constructor(options: FleetRunOptions) {
    this.#options = options;
    for (const run of options.crew.runs()) this.#runs.set(run.todoId, run);
  }

  get progress(): Progress {
    return this.#schedule.progress;
  }

  /** Somebody has changed the todos: they are read again before the next agent starts. */
  graphChanged(): void {
    this.#isStale = true;
    this.#wake();
  }

  /** Works until nothing is left to do. Rejects when the signal is aborted, once nothing is being started any more. */
  async work(signal: AbortSignal): Promise<Progress> {
    const onAbort = () => this.#wake();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      while (await this.#step(signal));
      return this.progress;
    } finally {
      signal.removeEventListener("abort", onAbort);
      if (signal.aborted) await Promise.allSettled(this.#busy.values());
    }
  }

  /** False when nothing is left to do. */
  async #step(signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (this.#options.isStopping()) return await this.#stopped(signal);
    for (const run of this.#ends.splice(0)) this.#settle(run);
    if (this.#isStale) await this.#read(signal);
    const { maxConcurrent } = this.#options;
    const starting = this.#schedule.take(maxConcurrent - this.#busy.size);
    if (this.#changes.length > 0 || starting.length > 0) {
      await this.#writeAndStart(starting, signal);
      return true;
    }
    if (this.#isStale || this.#ends.length > 0) return true;
    if (this.#busy.size === 0) return false;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (signal.aborted || this.#isStale || this.#ends.length > 0) resolve();
    });
    return true;
  }

  /** The signal follows. */
  async #stopped(signal: AbortSignal): Promise<boolean> {
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    return true;
  }

  async #writeAndStart(starting: readonly string[], signal: AbortSignal): Promise<void> {
    const { table, recorded, onWritten, onProgress } = this.#options;
    const changes = this.#changes.splice(0);
    await recorded(); // The tables must not show what a crash would undo.
    const { briefs, counts } = await table.write(changes, { named: starting, signal });
    this.#shown(changes);
    if (changes.length > 0) onWritten();
    if (counts !== this.#counts) this.#isStale = true;
    for (const id of starting) {
      const brief = briefs.get(id);
      if (brief) this.#start(brief);
      else this.#missed(id);
    }
    onProgress(this.progress);
  }

  /** Removed in between, so the graph is read again; one that is still there then cannot be read at all. */
  #missed(id: string): void {
    if (this.#unreadable.has(id)) {
      const attempt = (this.#runs.get(id)?.attempt ?? 0) + 1;
      this.#runs.set(id, { todoId: id, attempt });
      this.#ends.push({
        todoId: id,
        attempt,
        end: { way: "refused", error: "Its row in the table todos cannot be read." },
      });
      return;
    }
    this.#unreadable.add(id);
    this.#schedule.again(id);
    this.#isStale = true;
  }

  #start(brief: Brief): void {
    const { id } = brief;
    const attempt = (this.#runs.get(id)?.attempt ?? 0) + 1;
    const needed = this.#schedule.needsOf(id).map((each) => this.#runs.get(each) ?? { todoId: each });
    const started = this.#options.crew.start(brief, { attempt, prompt: wordsFor(brief, needed) });
    this.#runs.set(id, { todoId: id, attempt });
    this.#follow(
      id,
      started.then((answer) => {
        if ("refused" in answer) {
          const { agentId, refused: error } = answer;
          return { todoId: id, attempt, agentId, end: { way: "refused" as const, error } };
        }
        const run = { todoId: id, attempt, agentId: answer.agentId };
        this.#runs.set(id, run);
        this.#changes.push({ id, status: "in_progress", outcome: "leased", agentId: run.agentId, attempt });
        this.#wake();
        return this.#ended(run);
      }),
    );
  }

  async #ended(run: Run & { agentId: string }): Promise<Run> {
    return { ...run, end: await this.#options.crew.ended(run.agentId) };
  }

  #follow(id: string, run: Promise<Run>): void {
    const ended = run
      .catch((error: unknown): Run => ({ ...(this.#runs.get(id) ?? { todoId: id, attempt: 1 }), end: failed(error) }))
      .then((last) => {
        if (this.#busy.get(id) === ended) this.#busy.delete(id);
        this.#ends.push(last);
        this.#wake();
      });
    this.#busy.set(id, ended);
  }

  #shown(changes: readonly Change[]): void {
    for (const { id, outcome, attempt } of changes) if (outcome !== "leased") this.#over.set(id, attempt);
  }

  #isOver({ todoId, attempt }: Run): boolean {
    return (this.#over.get(todoId) ?? 0) >= attempt;
  }

  /** What a run came to, for the schedule and for the tables. */
  #settle(run: Run): void {
    const { todoId: id, attempt, agentId } = run;
    if (this.#runs.get(id)?.attempt !== attempt || !hasEnded(run)) return;
    this.#runs.set(id, run);
    const { status, outcome, text } = this.#outcomeOf(run);
    this.#changes.push({ id, status, outcome, agentId, attempt, text });
    if (outcome === "done") this.#schedule.done(id);
    else if (outcome === "again") this.#schedule.again(id);
    else this.#block(this.#schedule.fail(id, text));
  }

  #outcomeOf(run: Run & { end: RunEnd }): Pick<Change, "status" | "outcome"> & { text: string } {
    const { end, attempt } = run;
    if (end.way === "completed") return { status: "done", outcome: "done", text: end.text };
    const isOfRemoved = end.way === "cancelled" && this.#isOver(run); // And the todo is there again, or nobody reads this.
    if (isOfRemoved || (end.way === "failed" && attempt <= this.#options.retries))
      return { status: "pending", outcome: "again", text: end.error };
    return { status: "blocked", outcome: "failed", text: end.error };
  }

  #block(blocked: readonly { id: string; reason: string }[]): void {
    for (const { id, reason } of blocked) {
      const { attempt = 0, agentId } = this.#runs.get(id) ?? {};
      this.#changes.push({ id, status: "blocked", outcome: "waits", agentId, attempt, text: reason });
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { table, recorded, onWritten } = this.#options;
    this.#isStale = false;
    const changes = this.#changes.splice(0);
    await recorded();
    const graph = await table.read(changes, { signal });
    this.#shown(changes);
    if (changes.length > 0) onWritten();
    this.#counts = graph.counts;
    this.#leaveRemoved(new Set(graph.rows.map(({ id }) => id)));
    this.#arrange(graph);
    for (const run of this.#runs.values()) if (!run.end) this.#goOn(run);
    this.#options.onProgress(this.progress);
  }

  #arrange({ rows, deps }: TodoGraph): void {
    const todos = new Map<string, Standing>();
    const past = new Set<string>();
    for (const row of rows) {
      const isOutside = this.#options.isOutside(row);
      if (isOutside && row.status === "done") past.add(row.id);
      else todos.set(row.id, isOutside ? { type: "outside" } : this.#standingOf(row));
    }
    this.#schedule = new Schedule({ todos, deps: deps.filter(({ dependsOn }) => !past.has(dependsOn)) });
    const known = new Map(rows.map((row) => [row.id, row]));
    const { blockedByGraph } = this.#schedule;
    const isSaid = (row: TodoRow | undefined) => row?.status === "blocked" && row.outcome === "waits";
    this.#block(blockedByGraph.filter(({ id }) => !isSaid(known.get(id))));
    const blocked = new Set(blockedByGraph.map(({ id }) => id));
    for (const row of rows) {
      if (todos.get(row.id)?.type !== "open" || row.status === "pending" || blocked.has(row.id)) continue;
      this.#changes.push({ ...row, status: "pending", outcome: "again" });
    }
  }

  /** The run decides while it goes on, and until the tables show its end; after that the tables do, so that everybody can change them. */
  #standingOf(row: TodoRow): Standing {
    const run = this.#runs.get(row.id);
    if (run && !run.end) return { type: "running" };
    if (hasEnded(run) && !isShown(row, run) && !this.#isOver(run)) {
      const { attempt, agentId } = run;
      const change = this.#outcomeOf(run);
      this.#changes.push({ id: row.id, ...change, attempt, agentId });
      if (change.outcome === "failed") return { type: "blocked", reason: change.text };
      return { type: change.outcome === "done" ? "done" : "open" };
    }
    switch (row.status) {
      case "done":
        return { type: "done" };
      case "blocked":
        return row.outcome === "waits"
          ? { type: "open" }
          : { type: "blocked", reason: "It was tried and given up, or set aside." };
      case "in_progress":
        return row.outcome === undefined ? { type: "outside" } : { type: "open" };
      case "pending":
        return { type: "open" };
    }
  }

  /** An agent of an earlier process. */
  #goOn(run: Run): void {
    const { todoId, agentId } = run;
    if (this.#busy.has(todoId) || agentId === undefined) return;
    this.#follow(todoId, this.#ended({ ...run, agentId }));
  }

  /** Nobody wants what the agent of a removed todo works on. */
  #leaveRemoved(left: ReadonlySet<string>): void {
    for (const [id, { agentId, end, attempt }] of this.#runs) {
      if (left.has(id)) continue;
      this.#over.set(id, attempt);
      if (!end && agentId !== undefined) void this.#options.crew.cancel(agentId);
    }
  }
}

const hasEnded = (run: Run | undefined): run is Run & { end: RunEnd } => run?.end !== undefined;

function failed(error: unknown): RunEnd {
  return { way: "failed", error: error instanceof Error ? error.message : String(error) };
}
