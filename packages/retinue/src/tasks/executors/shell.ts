/**
 * Shells: tasks that are commands in a process group of their own.
 *
 * Connects the shell tools of an agent to the registry. A shell ends with the process that started it, so its record is not stored; the
 * processes that a killed runtime leaves behind are in processes/process-ledger.ts. A single shell is in tools/shell/.
 */
import type { ProcessLedger } from "../../processes/process-ledger.ts";
import { createShells, type Shells } from "../../tools/shell/shells.ts";
import type { Shell, ShellService, ShellStart } from "../../tools/tool.ts";
import type { World } from "../../world.ts";
import type { Executor, RunOptions, TaskView } from "../executor.ts";
import type { End } from "../moves.ts";
import { newHead, type ShellRecord } from "../record.ts";
import type { Tasks } from "../registry.ts";
import { shellView } from "./shell-view.ts";

export interface ShellTasksOptions {
  rootId: string;
  world: World;
  ledger: ProcessLedger;
  /** Where long outputs are kept. */
  logFolder(): string;
  /** The registry, once it exists. */
  tasks(): Tasks;
}

export class ShellTasks implements Executor<ShellRecord> {
  readonly kind = "shell";
  readonly traits = { isKept: false, joinsOwner: false, isAddressable: false, runsHere: true, delaysIdle: false };
  readonly view: TaskView<ShellRecord>;
  readonly #options: ShellTasksOptions;
  readonly #ofAgent = new Map<string, Shells>();
  readonly #running = new Map<string, Shell>();
  /** The shell or the error of the latest start, for `#begin`, which reads it in the same tick. */
  #started: { shell?: Shell; error?: unknown } = {};
  /** Shells whose end is in the result of a call. */
  readonly #reported = new WeakSet<Shell>();

  constructor(options: ShellTasksOptions) {
    this.#options = options;
    this.view = shellView({
      shellOf: (record) => this.#shellOf(record),
      isReported: (shell) => this.#reported.has(shell),
      newId: () => options.world.newId(),
    });
  }

  /** The shells of one agent. They end with it, also when this process is killed. */
  ofAgent(ownerId: string, options: { isConfined?: boolean } = {}): ShellService {
    const own = this.unlisted(ownerId, options);
    const { tasks } = this.#options;
    const isListed = (shellId: string) => tasks().records.get(taskId(ownerId, shellId)) !== undefined;
    this.#ofAgent.set(ownerId, own);
    own.onBackground(({ id }) => tasks().promote(taskId(ownerId, id)));
    own.onEnded((shell, { awaited }) => {
      if (awaited) this.#reported.add(shell);
    });
    return {
      ...own,
      start: (options) => this.#begin(ownerId, own, options),
      get: (shellId) => (isListed(shellId) ? own.get(shellId) : undefined),
      list: () => own.list().filter(({ id }) => isListed(id)),
      wasReclaimed: (shellId) => own.wasReclaimed(shellId) || (own.get(shellId) !== undefined && !isListed(shellId)),
      remove: (shellId) => {
        own.remove(shellId);
        tasks().remove(taskId(ownerId, shellId));
      },
      closeAll: async () => {
        this.#ofAgent.delete(ownerId);
        await own.closeAll();
        for (const { id } of own.list()) tasks().remove(taskId(ownerId, id));
      },
    };
  }

  /** Shells that are not tasks: those that clients run outside the conversation. */
  unlisted(ownerId: string, { isConfined = false }: { isConfined?: boolean } = {}): Shells {
    const { ledger, logFolder } = this.#options;
    return createShells({ sessionId: ownerId, logFolder: logFolder(), family: ledger.family(), isConfined });
  }

  async start(record: ShellRecord, { signal }: RunOptions): Promise<End> {
    const { alias: shellId, mode, isDetached: detached, isInteractive: interactive } = record;
    const { command, description, cwd, env } = record;
    const background = mode === "background";
    const shell = this.#spawn(record, (shells) =>
      shells.start({ command, description, cwd, shellId, detached, background, interactive, env }),
    );
    const onAbort = () => void shell.kill();
    signal.addEventListener("abort", onAbort, { once: true });
    await shell.ended;
    signal.removeEventListener("abort", onAbort);
    return { way: shell.status === "cancelled" ? "cancelled" : "completed" };
  }

  promoted(record: ShellRecord): void {
    this.#running.get(record.id)?.promote();
  }

  /** Removes a shell whose end was read before it was recorded, or whose agent has closed. */
  async close({ id, ownerId, alias = "" }: ShellRecord): Promise<void> {
    this.#running.delete(id);
    if (!this.#ofAgent.get(ownerId)?.get(alias)) this.#options.tasks().remove(id);
  }

  #begin(ownerId: string, own: Shells, options: ShellStart): Shell {
    const { rootId, world, tasks } = this.#options;
    const alias = options.shellId ?? own.freshId();
    const record: ShellRecord = {
      ...newHead(world.now()),
      kind: "shell",
      id: taskId(ownerId, alias),
      alias,
      rootId,
      ownerId,
      callId: "",
      name: options.description || options.command.slice(0, NAME_CHARS),
      description: options.description,
      agentType: "shell",
      prompt: options.command,
      mode: options.background ? "background" : "sync",
      isDetached: options.detached ?? false,
      command: options.command,
      cwd: options.cwd,
      isInteractive: options.interactive ?? false,
      env: options.env && { ...options.env },
    };
    void tasks().start(record); // Not awaited: a shell need not be opened, and runs when this returns.
    const { shell, error } = this.#started;
    if (!shell) throw error;
    return shell;
  }

  /** An agent that has closed starts nothing: nobody would end it. */
  #spawn({ id, ownerId }: ShellRecord, start: (shells: Shells) => Shell): Shell {
    this.#started = {};
    try {
      const shells = this.#ofAgent.get(ownerId);
      if (!shells) throw new Error("The agent has ended, so it cannot start a shell");
      const shell = start(shells);
      this.#started = { shell };
      this.#running.set(id, shell);
      return shell;
    } catch (error) {
      this.#started = { error };
      throw error;
    }
  }

  #shellOf({ id, ownerId, alias = "" }: ShellRecord): Shell | undefined {
    return this.#running.get(id) ?? this.#ofAgent.get(ownerId)?.get(alias);
  }
}

const NAME_CHARS = 80;

const taskId = (ownerId: string, shellId: string): string => `${ownerId}/${shellId}`;
