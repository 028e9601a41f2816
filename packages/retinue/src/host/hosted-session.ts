/**
 * A root session that is open in this process: its log, its agents, its clients, from opening to closing.
 *
 * Owns the life of the whole: what is opened here is closed here. Calls of clients on a session are in handlers/.
 */
import { AppError, type SessionConfig } from "@retinue/protocol";
import { Runner } from "../loop/runner.ts";
import { Stop } from "../loop/stop.ts";
import { isEnded } from "../tasks/state.ts";
import type { Shell, ShellService } from "../tools/tool.ts";
import type { Client } from "./client.ts";
import { keepLimits } from "./session-limits.ts";
import { isNews, shellNotice } from "./shell-notice.ts";
import { Tree, type TreeOptions } from "./tree.ts";
import { usageMetrics } from "./usage.ts";
import { WorkingAgent } from "./working-agent.ts";

export class HostedSession {
  readonly tree: Tree;
  readonly runner: Runner;
  readonly shells: ShellService;
  /** Shells that clients started beside the conversation: no task of the session, and gone with it. */
  readonly userShells: ShellService;
  readonly #onClosed: () => Promise<void>;
  #closing: Promise<void> | undefined;
  #stopListening: () => void;

  constructor(options: TreeOptions & { onClosed: () => Promise<void> }) {
    this.#onClosed = options.onClosed;
    this.tree = new Tree(options);
    const { root } = this.tree;
    this.shells = this.tree.newShells(root.id);
    this.userShells = this.tree.newShells(root.id);
    this.shells.onEnded((shell, { awaited }) => this.#onShellEnded(shell, awaited));
    this.shells.onBackground(() => this.tree.tasksChanged());
    const main = new WorkingAgent({
      tree: this.tree,
      session: root,
      shells: this.shells,
      budget: options.config.budget,
    });
    this.runner = new Runner(main);
    this.tree.useMain(main, this.runner);
    this.#stopListening = root.log.listen((events) => {
      this.tree.participants.tell(events);
      this.tree.activity.follow(events);
    });
  }

  get id(): string {
    return this.tree.root.id;
  }
  get session() {
    return this.tree.root;
  }
  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  join(client: Client, config: SessionConfig): void {
    checkTools(config);
    this.tree.participants.join(client, config);
    this.tree.configure(config);
    this.tree.asks.redeliver();
    if (config.customAgents || config.availableTools || config.excludedTools || config.defaultAgent)
      keepLimits(this.tree);
  }

  /** A client leaves. The last one to leave by its own will ends the session's work; one that was lost leaves it to be resumed. */
  async leave(client: Client, { isLost }: { isLost: boolean }): Promise<void> {
    if (!this.tree.participants.of(client)) return;
    if (this.tree.participants.all.length > 1) {
      this.tree.participants.leave(client);
      this.tree.clientTasks.orphan(client);
      this.tree.changed();
      this.tree.asks.redeliver();
      return;
    }
    await this.close({ isLost });
    this.tree.participants.leave(client);
  }

  /** Stops everything in the session, sub-agents included, and forgets waiting prompts. */
  async abort(
    reason: "user_initiated" | "remote_command" | "user_abort" | "autopilot_credit_limit" = "user_initiated",
  ): Promise<void> {
    const { root } = this.tree;
    const isBusy = this.runner.isRunning || this.runner.owesIdle;
    if (!isBusy) return;
    root.inbox.clear();
    root.append("abort", { reason });
    const stopping = this.runner.stop(new Stop("abort", reason));
    await Promise.all([
      ...this.#runningAgents().map((id) => this.tree.tasks.cancel(id, reason)),
      this.#killBackgroundShells(),
    ]);
    await stopping;
    root.inbox.removeNotices(() => true);
    this.runner.backgroundChanged();
  }

  /** Stops the main turn; background agents go on. */
  async interrupt({ flushQueued = false }: { flushQueued?: boolean } = {}): Promise<boolean> {
    if (!this.runner.isRunning) return false;
    if (!flushQueued) this.session.inbox.clear();
    return await this.runner.stop(new Stop("interrupt", "user_abort"));
  }

  async suspend(): Promise<void> {
    await this.runner.stop(new Stop("suspend", "Session suspended"));
    await this.tree.tasks.park();
  }

  /** Closes in order: stop, tell, write, release. A second call waits for the first. */
  async close({
    isLost = false,
    type = "routine",
  }: {
    isLost?: boolean;
    type?: "routine" | "error";
  } = {}): Promise<void> {
    this.#closing ??= this.#close(isLost, type);
    await this.#closing;
  }

  async #close(isLost: boolean, shutdownType: "routine" | "error"): Promise<void> {
    const { root, tasks } = this.tree;
    this.runner.close();
    await this.runner.stop(new Stop("shutdown", "session closed"));
    if (!isLost) await Promise.all(this.#runningAgents().map((id) => tasks.cancel(id, "session closed")));
    await tasks.park();
    await Promise.all([this.shells.closeAll(), this.userShells.closeAll()]);
    await this.tree.close();
    keepLimits(this.tree);
    root.append("session.shutdown", { shutdownType, ...usageMetrics(this.tree).shutdown });
    try {
      await root.log.committed();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "lease_lost") throw error;
      this.#tellFailure(error); // Nothing of this process can be written any more, so nothing is left to do.
    } finally {
      this.#stopListening();
      await this.#onClosed(); // Also when the store refuses: another process may have more luck with what is stored.
    }
  }

  /**
   * The store refused to write: the run ends, the clients are told, and what is not written stays in memory for the next try. When the
   * right to write is gone there is none: the session closes here, and whoever wants it resumes it.
   */
  storeFailed(error: AppError): void {
    this.#tellFailure(error);
    if (error.code === "lease_lost") void this.close({ isLost: true, type: "error" });
    else if (this.runner.isRunning) void this.runner.stop(new Stop("abort", "store unavailable"));
  }

  #tellFailure(error: AppError): void {
    const { root, participants } = this.tree;
    const data = { errorType: "storage", message: error.message };
    const event = {
      type: "session.error",
      data,
      id: root.world.newId(),
      timestamp: new Date(root.world.now()).toISOString(),
      parentId: null,
      ephemeral: true as const,
    };
    participants.tell([{ ...event, type: "session.error", sessionId: root.id, json: JSON.stringify(event) }]);
  }

  #runningAgents(): string[] {
    return this.tree.tasks.records.filter(({ status }) => !isEnded(status) && status === "running").map(({ id }) => id);
  }

  async #killBackgroundShells(): Promise<void> {
    const running = this.shells.list().filter((shell) => !shell.detached && shell.status === "running");
    await Promise.all(running.map((shell) => shell.kill()));
  }

  #onShellEnded(shell: Shell, isAwaited: boolean): void {
    if (this.isClosing) return;
    const { root } = this.tree;
    if (isNews(shell, isAwaited)) {
      root.inbox.add(shellNotice(shell, root.world));
      this.runner.wake();
    }
    this.tree.tasksChanged();
  }
}

/** Names that no provider would take are refused before anything is opened. */
export function checkTools({ tools = [] }: SessionConfig): void {
  for (const { name } of tools) {
    if (!/^[A-Za-z0-9_-]+$/.test(name))
      throw new AppError("invalid_params", `session construction failed: invalid tool name '${name}'`);
  }
}
