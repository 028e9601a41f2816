/**
 * A root session that is open in this process: its log, its agents, its clients, from opening to closing.
 *
 * Owns their lifetime: what is opened here is closed here. The methods that clients call on a session are in server/handlers/.
 */
import { AppError, type SessionConfig } from "@retinue/protocol";
import type { Runner } from "../loop/runner.ts";
import type { Session } from "../session/session.ts";
import { Stop } from "../session/stop.ts";
import type { Store } from "../store/store.ts";
import { cancelRunning, closeIdle } from "../tasks/cancel-running.ts";
import type { ShellService } from "../tools/tool.ts";
import type { Client } from "../tree/client.ts";
import type { TreeParts } from "../tree/parts.ts";
import type { WorkingAgent } from "../tree/working-agent.ts";
import { composeTree, type SessionTree, type TreeOptions, type TreeTasks } from "./composition.ts";
import { ProjectNotices } from "./project-notices.ts";
import { keepLimits } from "./session-limits.ts";
import { sendStoreFailure } from "./store-failure.ts";
import { UnusedOptions } from "./unused-options.ts";
import { usageMetrics } from "./usage.ts";

export class HostedSession {
  readonly store: Store;
  readonly tree: TreeParts;
  readonly tasks: TreeTasks;
  readonly main: WorkingAgent;
  readonly runner: Runner;
  /** Shells that clients started outside the conversation. They are not tasks, and end with the session. */
  readonly userShells: ShellService;
  readonly #composed: SessionTree;
  readonly #onClosed: () => Promise<void>;
  readonly #unusedOptions: UnusedOptions;
  readonly #projectNotices: ProjectNotices;
  #closing: Promise<void> | undefined;
  #stopListening: () => void;

  constructor(options: TreeOptions & { warnings: readonly string[]; onClosed: () => Promise<void> }) {
    this.#onClosed = options.onClosed;
    this.#composed = composeTree(options);
    this.store = options.store;
    this.tree = this.#composed.parts;
    this.tasks = this.#composed.tasks;
    this.main = this.#composed.main;
    this.runner = this.#composed.runner;
    this.#unusedOptions = new UnusedOptions(this.session);
    this.#projectNotices = new ProjectNotices(this.tree, { home: options.runtime.home, warnings: options.warnings });
    this.userShells = this.tasks.shells.unlisted(this.session.id);
    this.#stopListening = this.session.log.listen((events) => {
      this.tree.participants.send(events);
      this.tree.usage.activity.follow(events);
    });
  }

  get session(): Session {
    return this.tree.root;
  }
  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  join(client: Client, config: SessionConfig): void {
    checkTools(config);
    this.tree.participants.join(client, config);
    this.configure(config);
    this.#unusedOptions.warn(client, config);
    this.#projectNotices.send(client);
    this.tree.asks.redeliver();
    if (config.customAgents || config.availableTools || config.excludedTools || config.defaultAgent) keepLimits(this);
  }

  /** When the last client detaches, the session's work ends; when its connection was lost, the work is parked for a resume. */
  async leave(client: Client, { isLost }: { isLost: boolean }): Promise<void> {
    const { participants, asks } = this.tree;
    if (!participants.of(client)) return;
    if (participants.all.length > 1) {
      participants.leave(client);
      this.tasks.clientWork.orphan(client);
      asks.redeliver();
      return;
    }
    await this.close({ isLost });
    participants.leave(client);
  }

  /** Applies the options that a client names. The others stay as they are. */
  configure(config: SessionConfig): void {
    const { configuration, rules, servers } = this.tree;
    configuration.change(config);
    for (const directory of config.additionalDirectories ?? []) rules.places.add(directory);
    if (config.mcpServers) servers.configured();
  }

  /** Closes in this order: stop the work, announce the end, commit, release the lease. A second call waits for the first. */
  async close(options: { isLost?: boolean; type?: "routine" | "error" } = {}): Promise<void> {
    this.#closing ??= this.#close(options);
    await this.#closing;
  }

  async #close({
    isLost = false,
    type: shutdownType = "routine",
  }: {
    isLost?: boolean;
    type?: "routine" | "error";
  }): Promise<void> {
    const { session, runner } = this;
    const { registry } = this.tasks;
    runner.close();
    await runner.stop(new Stop("shutdown", "session closed"));
    if (!isLost) {
      await cancelRunning(registry, "session closed");
      await closeIdle(registry);
    }
    await registry.park({ isClosing: true });
    await Promise.all([this.#composed.close(), this.userShells.closeAll()]);
    keepLimits(this);
    session.append("session.shutdown", { shutdownType, ...usageMetrics(this).shutdown });
    try {
      await session.log.committed();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "lease_lost") throw error;
      sendStoreFailure(this, error); // The session cannot be written any more, so sending the error is all that is left to do.
    } finally {
      this.#stopListening();
      await this.#onClosed(); // Also when the store refuses: another process may still be able to resume what is stored.
    }
  }
}

/** Tool names that providers would reject are refused before anything is opened. */
export function checkTools({ tools = [] }: SessionConfig): void {
  for (const { name } of tools) {
    if (!/^[A-Za-z0-9_-]+$/.test(name))
      throw new AppError("invalid_params", `session construction failed: invalid tool name '${name}'`);
  }
}
