/**
 * A root session that is open in this process: its log, its agents, its clients, from opening to closing.
 *
 * Owns their lifetime: what is opened here is closed here. The methods that clients call on a session are in server/handlers/.
 */
import { messageOf, type SessionConfig } from "@retinue/protocol";
import { callerOf } from "../loop/calls.ts";
import type { Runner } from "../loop/runner.ts";
import { isOutage, tryAgain } from "../session/outage.ts";
import type { Session } from "../session/session.ts";
import { Stop } from "../session/stop.ts";
import type { Store } from "../store/store.ts";
import { cancelRunning, closeIdle } from "../tasks/cancel-running.ts";
import type { ShellService } from "../tools/tool.ts";
import type { Client } from "../tree/client.ts";
import type { TreeParts } from "../tree/parts.ts";
import type { WorkingAgent } from "../tree/working-agent.ts";
import { composeTree, type SessionTree, type TreeOptions, type TreeTasks } from "./composition.ts";
import { checkConfig } from "./config-check.ts";
import { Notifications } from "./notifications.ts";
import { setPermissions } from "./permission-settings.ts";
import { ProjectNotices } from "./project-notices.ts";
import { keepLimits } from "./session-limits.ts";
import { sendStoreFailure } from "./store-failure.ts";
import { UnusedOptions } from "./unused-options.ts";
import { usageMetrics } from "./usage.ts";

export interface CloseOptions {
  /** The connection of the last client was lost: work is parked. */
  isLost?: boolean;
  type?: "routine" | "error";
  /** Nothing more is written: the session was never created. */
  isDiscarded?: boolean;
  /** It is about to be deleted. */
  isDeleted?: boolean;
}

export class HostedSession {
  readonly store: Store;
  readonly tree: TreeParts;
  readonly tasks: TreeTasks;
  readonly main: WorkingAgent;
  readonly runner: Runner;
  /** Shells that clients started outside the conversation. They are not tasks, and end with the session. */
  readonly userShells: ShellService;
  readonly #composed: SessionTree;
  readonly #onClosed: (how: { isParked: boolean }) => Promise<void>;
  readonly #unusedOptions: UnusedOptions;
  readonly #projectNotices: ProjectNotices;
  /** Set once: closing cannot be undone. */
  #stopping: Promise<void> | undefined;
  /** The current try to write what is left and to give the lease back. */
  #finishing: Promise<void> | undefined;
  #isFinished = false;
  #isTryingAgain = false;
  /** Work may go on later, or there is nothing to look back on. */
  #isParked = false;
  readonly #notifications: Notifications;
  #stopListening: () => void;

  constructor(options: TreeOptions & { onClosed(how: { isParked: boolean }): Promise<void> }) {
    this.#onClosed = options.onClosed;
    this.#composed = composeTree(options);
    this.store = options.store;
    this.tree = this.#composed.parts;
    this.tasks = this.#composed.tasks;
    this.main = this.#composed.main;
    this.runner = this.#composed.runner;
    this.#unusedOptions = new UnusedOptions(this.session);
    this.#projectNotices = new ProjectNotices(this.tree, options.runtime.home);
    this.userShells = this.tasks.shells.unlisted(this.session.id);
    this.#notifications = new Notifications({
      hooks: this.tree.hooks,
      callerOf: (agentId = "") => callerOf(this.tasks.agents.find(agentId)?.agent ?? this.main),
    });
    this.#stopListening = this.session.log.listen((events) => {
      this.tree.participants.send(events);
      this.#notifications.follow(events);
      this.tree.usage.activity.follow(events);
    });
  }

  get session(): Session {
    return this.tree.root;
  }
  get isClosing(): boolean {
    return this.#stopping !== undefined;
  }

  join(client: Client, config: SessionConfig): void {
    checkConfig(config);
    if (config.permissions) setPermissions(this, config.permissions, config); // First: one that is refused leaves no client behind.
    this.tree.participants.join(client, config);
    this.configure(config);
    this.tree.servers.open();
    this.#unusedOptions.warn(client, config);
    this.#projectNotices.send(client);
    this.tree.asks.redeliver();
    const { customAgents, availableTools, excludedTools, defaultAgent, budget, permissions, mcpServers } = config;
    const isLimited = customAgents || availableTools || excludedTools || defaultAgent || budget || permissions;
    if (isLimited || mcpServers || config.gates || config.maxAutopilotContinues !== undefined) keepLimits(this);
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

  /**
   * Closes in this order: stop the work, announce the end, commit, release the lease. The work is stopped once; the rest is tried again
   * when the store refuses, by itself and with every call. A call rejects while the store refuses.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    if (!this.#stopping) this.#isParked = Boolean(options.isLost || options.isDiscarded || options.isDeleted);
    this.#stopping ??= this.#stop(options);
    await this.#stopping;
    this.#finishing ??= this.#finish().finally(() => {
      this.#finishing = undefined;
    });
    await this.#finishing;
  }

  /** Ends everything that runs here. What goes wrong with one part must not keep the others, or the lease. */
  async #stop({ isLost = false, type: shutdownType = "routine", isDiscarded = false }: CloseOptions): Promise<void> {
    const { session, runner } = this;
    const { registry } = this.tasks;
    this.#notifications.close();
    session.log.close({ discard: isDiscarded });
    runner.close();
    await this.#attempt(() => runner.stop(new Stop("shutdown", "session closed")));
    if (!isLost) {
      await this.#attempt(() => cancelRunning(registry, "session closed"));
      await this.#attempt(() => closeIdle(registry));
    }
    await this.#attempt(() => registry.park({ isClosing: true }));
    await Promise.all([this.#attempt(() => this.#composed.close()), this.#attempt(() => this.userShells.closeAll())]);
    await this.#attempt(async () => keepLimits(this));
    session.append("session.shutdown", { shutdownType, ...usageMetrics(this).shutdown });
  }

  async #attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const message = `Something of the session could not be closed: ${messageOf(error)}`;
      this.session.announce("session.warning", { warningType: "shutdown", message });
    }
  }

  async #finish(): Promise<void> {
    if (this.#isFinished) return;
    try {
      await this.session.log.committed();
    } catch (error) {
      if (isOutage(error)) {
        if (!this.#isTryingAgain) tryAgain(() => this.close());
        this.#isTryingAgain = true;
        throw error;
      }
      sendStoreFailure(this, { message: messageOf(error) }); // It can never be written: another process may still resume what is stored.
    }
    this.#isFinished = true;
    this.#stopListening();
    await this.#onClosed({ isParked: this.#isParked });
  }
}
