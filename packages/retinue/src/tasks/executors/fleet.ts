/**
 * Fleets: todos that are worked off by agents, as a task of their own.
 *
 * Owns the record and the events of a fleet, and the agent that stands for it: whoever works on a todo is below that one, with the
 * rights, budget and depth of the fleet's owner. The work itself is in ../fleet/, which is loaded when there is some.
 */
import { AppError, type EventData, type EventType, messageOf } from "@retinue/protocol";
import type { Runner } from "../../loop/runner.ts";
import { Inbox, type Prompt } from "../../session/inbox.ts";
import { planNow } from "../../session/mode-now.ts";
import { beginRun } from "../../session/run-boundary.ts";
import { Session } from "../../session/session.ts";
import { SessionState } from "../../session/state.ts";
import { stopOf } from "../../session/stop.ts";
import type { TreeParts } from "../../tree/parts.ts";
import { WorkingAgent, type WorkingAgentOptions } from "../../tree/working-agent.ts";
import type { Executor, RunOptions } from "../executor.ts";
import type { GivenTodo, OnOutage, TodoTable } from "../fleet/todo-table.ts";
import { type End, isEnded } from "../moves.ts";
import { type FleetRecord, newHead, type TaskRecord } from "../record.ts";
import type { Tasks } from "../registry.ts";
import type { SpawnGate } from "../spawn-gate.ts";
import { fleetView } from "./fleet-view.ts";
import { endJoinedRun, joinedRun } from "./joined-run.ts";
import type { ShellTasks } from "./shell.ts";

export interface FleetsOptions {
  parts: TreeParts;
  /** The registry, once it exists. */
  tasks(): Tasks;
  gate: SpawnGate;
  main(): WorkingAgent;
  runner(): Runner;
  service: WorkingAgentOptions["tasks"];
  shells: ShellTasks;
  /** How many agents of the process may work at the same time. */
  maxConcurrent: number;
}

export interface FleetStart {
  /** What the user asked for. */
  request: string;
  /** Asks the main agent for the plan; without it the run that goes on makes the plan. */
  prompt?: Omit<Prompt, "kind" | "id" | "messageId">;
  graph?: { todos: readonly GivenTodo[]; deps: readonly { todoId: string; dependsOn: string }[] };
  maxConcurrent?: number;
  retries?: number;
  isolation?: "worktree";
  schema?: FleetRecord["schema"];
}

export class Fleets implements Executor<FleetRecord> {
  readonly kind = "fleet";
  readonly traits = { isKept: true, joinsOwner: true, isAddressable: true, runsHere: true, delaysIdle: true };
  readonly view;
  readonly #options: FleetsOptions;
  readonly #leaders = new Map<string, WorkingAgent>();
  readonly #prompts = new Map<string, Prompt>();
  readonly #stopping = new Set<string>();
  /** A fleet that is being started and has no record yet. */
  #beginning?: string;

  constructor(options: FleetsOptions) {
    this.#options = options;
    const pathOf = (record: FleetRecord): readonly TaskRecord[] => options.tasks().records.pathOf(record);
    this.view = fleetView({ root: options.parts.root, pathOf });
  }

  /** The agent that stands for a fleet. */
  find(id: string): WorkingAgent | undefined {
    return this.#leaders.get(id);
  }

  /** One at a time: two would share the todos of the session. Resolves when the start is recorded. */
  async begin(start: FleetStart): Promise<FleetRecord> {
    this.#refuseSecond();
    const id = this.#options.parts.root.world.newId();
    this.#beginning = id; // Before the todos are put in: one that is refused must leave none.
    try {
      return await this.#begin(id, start);
    } finally {
      this.#beginning = undefined;
    }
  }

  async #begin(
    id: string,
    { request, prompt, graph, maxConcurrent, retries = 1, ...start }: FleetStart,
  ): Promise<FleetRecord> {
    const { parts, tasks } = this.#options;
    const { world, id: rootId } = parts.root;
    const leaves = graph ? await this.#give(graph) : [];
    const now = world.now();
    const asking = prompt && { id: world.newId(), messageId: world.newId() };
    const record: FleetRecord = {
      ...newHead(now),
      kind: "fleet",
      id,
      rootId,
      ownerId: rootId,
      callId: id,
      name: "fleet",
      description: request.replace(/\s+/g, " ").slice(0, MAX_DESCRIPTION) || "Works off the todos",
      agentType: "fleet",
      prompt: request,
      mode: "background",
      phase: graph ? "running" : "planning",
      planPromptId: asking?.id,
      planOf: prompt?.agentMode === "plan" ? asking?.messageId : planNow(parts.root),
      isGiven: graph !== undefined,
      leaves,
      maxConcurrent: maxConcurrent ?? this.#options.maxConcurrent,
      retries,
      isolation: start.isolation,
      schema: start.schema,
      progress: { ...NONE, total: graph?.todos.length ?? 0, pending: graph?.todos.length ?? 0 },
    };
    if (prompt && asking) this.#prompts.set(id, { kind: "prompt", ...asking, ...prompt });
    await tasks().start(record);
    await parts.root.log.committed();
    return record;
  }

  /** The row of the session, the record, the start event and the prompt for the plan are one transaction. */
  async open(record: FleetRecord, { isNew }: { isNew: boolean }): Promise<void> {
    const { parts, service, shells, main } = this.#options;
    const { root } = parts;
    const { log, world, place } = root;
    const { id, callId, name } = record;
    const owner = main();
    const inbox = new Inbox({ sessionId: id, log, stored: [] });
    const state = Object.assign(new SessionState(), { planOf: record.planOf }); // What its agents inherit.
    const session = new Session({
      id,
      log,
      world,
      place: { ...place },
      inbox,
      state,
      parent: root,
      parentCallId: callId,
    });
    const leader = new WorkingAgent({
      parts,
      tasks: service,
      session,
      shells: shells.ofAgent(id),
      parent: owner,
      pathNames: [...owner.pathNames, name],
      budget: record.budget,
    });
    this.#leaders.set(id, leader);
    if (isNew) this.#announceStart(record, leader);
  }

  async start(record: FleetRecord, options: RunOptions): Promise<End | undefined> {
    return await this.#run(record, options, { isContinued: false });
  }

  async continue(record: FleetRecord, options: RunOptions): Promise<End | undefined> {
    return await this.#run(record, options, { isContinued: true });
  }

  /** Known before its agents are cancelled one by one: these ends are not tried again. */
  async cancel({ id }: FleetRecord): Promise<boolean> {
    this.#stopping.add(id);
    return true;
  }

  /** Todos whose agents are gone are open again, in the tables too. */
  async ending(record: FleetRecord, end: End, { signal }: { signal: AbortSignal }): Promise<void> {
    if (end.way === "completed" || record.phase === "planning") return;
    const { leaveTodos } = await import("../fleet/leave-todos.ts");
    try {
      record.progress = await leaveTodos(record, { table: await this.#table(), tasks: this.#options.tasks(), signal });
      this.#options.parts.root.announce("session.todos_changed", {});
    } catch (error) {
      const message = `The todos of the fleet could not be put back: ${messageOf(error)}`;
      this.#options.parts.root.announce("session.warning", { warningType: "fleet", message });
    }
  }

  ended(record: FleetRecord, end: End): void {
    endJoinedRun(record, end, this.#options.parts.root);
  }

  async close({ id }: FleetRecord): Promise<void> {
    this.#leaders.delete(id);
    this.#stopping.delete(id);
  }

  async #run(
    record: FleetRecord,
    { signal }: RunOptions,
    { isContinued }: { isContinued: boolean },
  ): Promise<End | undefined> {
    try {
      const refused = record.phase === "planning" ? await this.#planned(record, { isContinued, signal }) : undefined;
      signal.throwIfAborted();
      return refused ?? (await this.#work(record, signal));
    } catch (error) {
      if (!signal.aborted) throw error;
      return stopOf(signal)?.isParked ? undefined : { way: "cancelled" };
    }
  }

  /** How the fleet ends when there is nothing to work off. */
  async #planned(
    record: FleetRecord,
    { isContinued, signal }: { isContinued: boolean; signal: AbortSignal },
  ): Promise<End | undefined> {
    const { parts, runner, tasks } = this.#options;
    const { planned } = await import("../fleet/planning.ts");
    const problem = await planned(record, { root: parts.root, runner: runner(), isContinued, signal });
    signal.throwIfAborted();
    if (problem !== undefined) return { way: "failed", error: problem };
    const { rows } = await (await this.#patientTable()).read([], { signal });
    record.leaves = rows.filter(({ status }) => status === "done").map(({ id }) => id);
    if (record.leaves.length === rows.length)
      return { way: "completed", text: "No todos were planned, so no agent was started." };
    record.phase = "running";
    tasks().records.save(record);
    return undefined;
  }

  async #work(record: FleetRecord, signal: AbortSignal): Promise<End> {
    const [{ FleetRun }, { crewOf }, { isOutside, reportWords, resultsOf }] = await Promise.all([
      import("../fleet/fleet-run.ts"),
      import("../fleet/crew.ts"),
      import("../fleet/report.ts"),
    ]);
    const { parts, tasks, gate } = this.#options;
    const { root } = parts;
    const table = await this.#patientTable();
    const own = new Set<string>();
    const isStopping = () => this.#stopping.has(record.id);
    const run = new FleetRun({
      table,
      crew: crewOf({ fleet: record, leader: this.#leader(record), tasks: tasks(), gate, isStopping, signal }),
      maxConcurrent: record.maxConcurrent,
      retries: record.retries,
      isOutside: isOutside(record),
      isStopping,
      recorded: () => root.log.recorded({ signal }),
      onWritten: () => own.add(root.append("session.todos_changed", {}, { ephemeral: true }).id),
      onProgress: (progress) => this.#note(record, progress),
    });
    const stopListening = root.log.listen((events) => {
      if (events.some(({ type, id }) => type === "session.todos_changed" && !own.delete(id))) run.graphChanged();
    });
    try {
      const progress = await run.work(signal);
      const text = reportWords(resultsOf(record, await table.results({ signal }), tasks()), progress);
      if (progress.done === progress.total) return { way: "completed", text };
      return {
        way: "failed",
        error: `${progress.total - progress.done} of ${progress.total} todos are not done.`,
        text,
      };
    } finally {
      stopListening();
    }
  }

  #leader({ id }: FleetRecord): WorkingAgent {
    const leader = this.#leaders.get(id);
    if (!leader) throw new AppError("task_state", `Fleet ${id} is not open`);
    return leader;
  }

  #note(record: FleetRecord, progress: FleetRecord["progress"]): void {
    if (JSON.stringify(record.progress) === JSON.stringify(progress)) return;
    record.progress = progress;
    const { log } = this.#options.parts.root;
    log.append("subagent.progress", { toolCallId: record.callId, fleet: progress }, { sessionId: record.id });
  }

  async #give(graph: NonNullable<FleetStart["graph"]>): Promise<string[]> {
    const { signal } = new AbortController();
    const table = await this.#table();
    await table.put(graph, { signal });
    this.#options.parts.root.announce("session.todos_changed", {});
    const given = new Set(graph.todos.map(({ id }) => id));
    const { rows } = await table.read([], { signal });
    return rows.filter(({ id }) => !given.has(id)).map(({ id }) => id);
  }

  async #table(onOutage?: OnOutage): Promise<TodoTable> {
    const { todosOf } = await import("../fleet/todo-table.ts");
    return todosOf(this.#options.parts, onOutage);
  }

  /** For the work itself: a start can be refused and an end cannot wait, but what was done is worth waiting for. */
  async #patientTable(): Promise<TodoTable> {
    const { root } = this.#options.parts;
    return await this.#table((why) => {
      const message = `The todos of the fleet cannot be reached: ${why}. The fleet waits, and goes on by itself when they can: make room on the disk, or give access to the home folder.`;
      root.announce("session.warning", { warningType: "fleet", message });
    });
  }

  #refuseSecond(): void {
    const { parts, tasks } = this.#options;
    const fleets = tasks()
      .records.ownedBy(parts.root.id)
      .filter(({ kind }) => kind === "fleet");
    const running = this.#beginning ?? fleets.find(({ status }) => !isEnded(status))?.id;
    if (running === undefined) return;
    throw new AppError(
      "task_state",
      `A fleet is at work already (${running}). Todos that are added to the table todos are taken up by it; or cancel it first.`,
    );
  }

  #announceStart(record: FleetRecord, { session, pathNames }: WorkingAgent): void {
    const { root } = this.#options.parts;
    const { log, world, place } = root;
    const { id, rootId, ownerId, callId, agentType, name, description, prompt, mode } = record;
    const now = world.now();
    const row = { id, rootId, parentId: ownerId, cwd: place.workingDirectory, name, userNamed: false };
    log.create({ ...row, createdAt: now, updatedAt: now });
    const started = {
      toolCallId: callId,
      agentName: agentType,
      agentDisplayName: name,
      taskName: name,
      agentDescription: description,
      agentType,
      executionMode: mode,
      resumable: true,
      remoteSessionId: id,
      planOf: record.planOf,
      path: [...session.agentPath],
      pathNames: [...pathNames],
    };
    beginRun(started, joinedRun(record, this.#options.parts.root));
    this.#append(record, "user.message", { content: prompt || description, messageId: world.newId() });
    const asking = this.#prompts.get(id);
    this.#prompts.delete(id);
    if (asking) root.inbox.add(asking);
    this.#options.tasks().records.save(record);
  }

  #append<T extends EventType>(record: FleetRecord, type: T, data: EventData<T>): void {
    this.#options.parts.root.log.append(type, data, { sessionId: record.id });
  }
}

const MAX_DESCRIPTION = 200;
const NONE = { total: 0, done: 0, running: 0, failed: 0, blocked: 0, pending: 0 };
