/**
 * The sessions of one runtime: opened, resumed, joined, left, listed, deleted.
 *
 * Owns which sessions are open in this process and the right to write them. One open session is hosted-session.ts.
 */
import { randomUUID } from "node:crypto";
import {
  AppError,
  type CreateSession,
  messageOf,
  type ResumeSession,
  type SessionConfig,
  type SessionContext,
} from "@retinue/protocol";
import type { Ask } from "../asks/kinds.ts";
import { settleInterrupted } from "../loop/calls.ts";
import { Limiter } from "../loop/slot.ts";
import type { Catalog } from "../models/catalog.ts";
import { openAsks } from "../recovery/open-asks.ts";
import { recoveryPlan } from "../recovery/plan.ts";
import { replay } from "../recovery/replay.ts";
import { createFolder, removeFolder, sessionFolder } from "../session/folder.ts";
import { Inbox, type InboxEntry, readInbox } from "../session/inbox.ts";
import { Log, type TranscriptFold } from "../session/log.ts";
import { Session } from "../session/session.ts";
import { SessionState } from "../session/state.ts";
import { thisProcess } from "../store/sqlite.ts";
import type { SessionRecord, Store } from "../store/store.ts";
import { readRecord } from "../tasks/record.ts";
import type { Client } from "../tree/client.ts";
import { gitContext } from "../workspace/git-context.ts";
import { readInstructions } from "../workspace/instructions.ts";
import type { World } from "../world.ts";
import type { TreeOptions } from "./composition.ts";
import type { RuntimeConfig } from "./config.ts";
import { checkTools, HostedSession } from "./hosted-session.ts";
import { SESSION_LIMITS } from "./session-limits.ts";
import { tellStoreFailure } from "./store-failure.ts";

export interface SessionsOptions {
  store: Store;
  runtime: RuntimeConfig;
  catalog: Catalog;
  world: World;
  onLifecycle(change: Lifecycle): void;
  /** What other parts add to every session tree. */
  extend?: Pick<TreeOptions, "extraTools" | "inherit">;
  /** How the log of a session tree keeps the transcript in step. */
  transcribe?: (rootId: string) => TranscriptFold;
}

export interface Lifecycle {
  type: "session.created" | "session.updated" | "session.deleted";
  sessionId: string;
  metadata?: { startTime: string; modifiedTime: string; summary?: string };
}

interface LeftBehind {
  asks: readonly Ask[];
  /** Answers that were taken, by ask. */
  answers: ReadonlyMap<string, { value: unknown }>;
}

/** Notes of clients about a session, by session. */
export const CLIENT_METADATA = "client-metadata";

const LOST = "The process that ran this agent ended, and the call that waited for it was given up.";

/** Ids become folder names: nothing in them may lead elsewhere. */
const VALID_ID = /^(?!\.)[A-Za-z0-9._:@-]{1,200}$/;

export class Sessions {
  readonly store: Store;
  readonly runtime: RuntimeConfig;
  readonly catalog: Catalog;
  readonly world: World;
  readonly #options: SessionsOptions;
  readonly #limiter: Limiter;
  readonly #open = new Map<string, HostedSession>();
  readonly #opening = new Map<string, Promise<HostedSession>>();
  readonly #idle = new Map<string, NodeJS.Timeout>();
  /** What a loaded session was left with, until the first client that resumes it says what becomes of it. */
  readonly #left = new WeakMap<HostedSession, LeftBehind>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.store = options.store;
    this.runtime = options.runtime;
    this.catalog = options.catalog;
    this.world = options.world;
    this.#limiter = new Limiter(options.runtime.maxConcurrent);
  }

  get open(): readonly HostedSession[] {
    return [...this.#open.values()];
  }

  find(id: string): HostedSession | undefined {
    const found = this.#open.get(id);
    return found?.isClosing ? undefined : found;
  }

  get(id: string): HostedSession {
    const found = this.find(id);
    if (!found) throw new AppError("session_not_found", `Session not found for sessionId: ${id}`);
    return found;
  }

  async create(client: Client, params: CreateSession): Promise<HostedSession> {
    const id = params.sessionId ?? randomUUID();
    if (!VALID_ID.test(id) || id.includes(".."))
      throw new AppError("session_invalid", `Rejected session.create request with invalid sessionId: ${id}`);
    checkTools(params);
    const known = this.find(id);
    if (known) {
      known.join(client, params);
      return known;
    }
    if (this.store.session(id)) return await this.resume(client, { ...params, sessionId: id });
    return await this.#once(id, async () => {
      const hosted = await this.#createNew(id, params);
      this.#begin(hosted, client, params);
      return hosted;
    });
  }

  async resume(client: Client, params: ResumeSession): Promise<HostedSession> {
    const { sessionId: id, disableResume = false, continuePendingWork = false, ...config } = params;
    checkTools(config);
    const open = this.find(id);
    const isJoining = open !== undefined;
    if (!open) await this.#open.get(id)?.close(); // One that is just closing is waited for.
    const hosted = open ?? (await this.#once(id, () => this.#load(id, config)));
    hosted.join(client, config);
    if (config.agent) this.#selectAgent(hosted, config.agent);
    if (config.model && config.model !== hosted.session.state.model) this.#switchModel(hosted, config);
    if (!disableResume) this.#announceResume(hosted, { isJoining, continuePendingWork });
    const left = this.#left.get(hosted);
    this.#left.delete(hosted);
    if (left) await this.#settle(hosted, left, continuePendingWork);
    hosted.session.log.flush();
    return hosted;
  }

  async leave(client: Client, id: string, { isLost = false }: { isLost?: boolean } = {}): Promise<boolean> {
    const hosted = this.find(id);
    if (!hosted) return false;
    await hosted.leave(client, { isLost });
    return true;
  }

  /** A connection is gone: its sessions are closed in order, and can be resumed where they stood. */
  async lost(client: Client): Promise<void> {
    await Promise.all(this.open.map((hosted) => hosted.leave(client, { isLost: true })));
  }

  async delete(id: string): Promise<boolean> {
    const record = this.store.session(id);
    if (!record || record.parentId) return false;
    const holder = this.store.holder(id);
    if (holder && !this.#open.has(id)) throw locked(id, holder.pid);
    await this.#open.get(id)?.close();
    this.store.deleteSession(id);
    this.store.remove(CLIENT_METADATA, id);
    this.store.remove(SESSION_LIMITS, id);
    removeFolder(sessionFolder(this.runtime.home, id));
    this.#options.onLifecycle({ type: "session.deleted", sessionId: id });
    return true;
  }

  /** Tells every client that a session has come, changed or gone. */
  announce(change: Lifecycle): void {
    this.#options.onLifecycle(change);
  }

  async closeAll({ isLost = false }: { isLost?: boolean } = {}): Promise<void> {
    await Promise.all([...this.#open.values()].map((hosted) => hosted.close({ isLost })));
  }

  /** Two calls for one id at the same time open it once. */
  async #once(id: string, open: () => Promise<HostedSession>): Promise<HostedSession> {
    const running = this.#opening.get(id);
    if (running) return await running;
    const opening = open().finally(() => this.#opening.delete(id));
    this.#opening.set(id, opening);
    return await opening;
  }

  async #createNew(id: string, config: SessionConfig): Promise<HostedSession> {
    const now = this.world.now();
    const cwd = config.workingDirectory ?? process.cwd();
    const context = await gitContext(cwd);
    this.#acquire(id);
    const record: SessionRecord = {
      id,
      rootId: id,
      userNamed: false,
      createdAt: now,
      updatedAt: now,
      clientName: config.clientName,
      ...context,
    };
    this.store.createSession(record);
    createFolder(sessionFolder(this.runtime.home, id));
    return this.#host(record, config, context, { state: new SessionState(), inbox: [], lastId: null, count: 0 });
  }

  async #load(id: string, config: SessionConfig): Promise<HostedSession> {
    const record = VALID_ID.test(id) ? this.store.session(id) : undefined;
    if (!record || record.parentId)
      throw new AppError("session_not_found", `Failed to load session events: Session not found: ${id}`);
    this.#acquire(id);
    const cwd = config.workingDirectory ?? record.cwd;
    const context = await gitContext(cwd);
    createFolder(sessionFolder(this.runtime.home, id));
    const events = this.store.events(id);
    const { state, usage, lastId, count } = replay(events, id);
    state.title = record.summary ?? state.title; // A name that somebody gave is not an event.
    const { entries, answers } = readInbox(this.store.inbox(id));
    const hosted = this.#host({ ...record, cwd }, config, context, { state, inbox: entries, lastId, count });
    const kept = new Map(answers.map(({ requestId, answer }) => [requestId, { value: answer }]));
    this.#left.set(hosted, { asks: openAsks(events, (requestId) => kept.has(requestId)), answers: kept });
    for (const [sessionId, totals] of usage) hosted.tree.usage.count(sessionId, totals);
    for (const { json } of this.store.list("task", `${id}/`)) hosted.tasks.registry.records.add(readRecord(json));
    return hosted;
  }

  #host(
    record: SessionRecord,
    config: SessionConfig,
    context: SessionContext,
    {
      state,
      inbox,
      lastId,
      count,
    }: { state: SessionState; inbox: readonly InboxEntry[]; lastId: string | null; count: number },
  ): HostedSession {
    const { id, cwd } = record;
    const log = new Log({
      rootId: id,
      store: this.store,
      world: this.world,
      lastId,
      count,
      onFailure: (error) => tellStoreFailure(hosted, error),
      fold: this.#options.transcribe?.(id),
    });
    const root = new Session({
      id,
      log,
      world: this.world,
      state,
      inbox: new Inbox({ sessionId: id, log, stored: inbox }),
      place: { workingDirectory: cwd, folder: sessionFolder(this.runtime.home, id) },
    });
    const hosted: HostedSession = new HostedSession({
      root,
      store: this.store,
      runtime: this.runtime,
      catalog: this.catalog,
      limiter: this.#limiter,
      config,
      context,
      customInstructions: readInstructions(config, cwd, context.gitRoot),
      ...this.#options.extend,
      onClosed: () => {
        clearTimeout(this.#idle.get(id));
        this.#idle.delete(id);
        this.#open.delete(id);
        this.store.release(id);
      },
    });
    log.listen((events) => {
      if (events.some((event) => !event.ephemeral)) this.#touched(hosted, record);
      this.#watchIdle(hosted);
    });
    this.#open.set(id, hosted);
    return hosted;
  }

  #begin(hosted: HostedSession, client: Client, config: SessionConfig): void {
    const { session } = hosted;
    hosted.join(client, config);
    const model = hosted.tree.configuration.models.choose(config.model).id;
    this.#options.onLifecycle({
      type: "session.created",
      sessionId: hosted.session.id,
      metadata: metadataOf(this.store.session(hosted.session.id)),
    });
    session.append("session.start", {
      sessionId: hosted.session.id,
      version: 1,
      producer: "retinue",
      copilotVersion: this.runtime.version,
      startTime: new Date(this.world.now()).toISOString(),
      selectedModel: model,
      ...(config.reasoningEffort ? { reasoningEffort: config.reasoningEffort } : {}),
      contextTier: null,
      context: hosted.tree.configuration.context,
      remoteSteerable: false,
      alreadyInUse: false,
    });
    if (config.agent) {
      try {
        this.#selectAgent(hosted, config.agent);
      } catch (error) {
        void hosted.close();
        throw error;
      }
    }
    session.log.flush();
  }

  #selectAgent({ tree, session }: HostedSession, name: string): void {
    const agent = tree.configuration.agents.getCustom(name);
    if (session.state.selectedAgent === agent.name) return;
    session.append("subagent.selected", {
      agentName: agent.name,
      agentDisplayName: agent.displayName,
      tools: agent.tools ? [...agent.tools] : null,
    });
  }

  #switchModel({ session }: HostedSession, config: SessionConfig): void {
    const previousModel = session.state.model;
    session.append("session.model_change", {
      newModel: config.model ?? "",
      ...(previousModel ? { previousModel } : {}),
      reasoningEffort: config.reasoningEffort ?? null,
      contextTier: null,
      source: "sdk",
    });
  }

  #announceResume(
    hosted: HostedSession,
    { isJoining, continuePendingWork }: { isJoining: boolean; continuePendingWork: boolean },
  ): void {
    const { session, tree } = hosted;
    session.append("session.resume", {
      resumeTime: new Date(this.world.now()).toISOString(),
      ...(session.state.model ? { selectedModel: session.state.model } : {}),
      contextTier: null,
      sessionLimits: null,
      context: tree.configuration.context,
      remoteSteerable: false,
      continuePendingWork,
      eventCount: session.log.count,
      alreadyInUse: isJoining,
      sessionWasActive: isJoining && hosted.runner.isRunning,
    });
  }

  /** After a restart: what was under way goes on, or is given its end. Background agents go on either way. */
  async #settle(hosted: HostedSession, left: LeftBehind, continuePendingWork: boolean): Promise<void> {
    const { session, tree, runner } = hosted;
    const { registry } = hosted.tasks;
    const plan = recoveryPlan(
      {
        rootId: session.id,
        calls: session.state.openCalls,
        tasks: registry.records.list(),
        asks: left.asks,
        hasNotices: session.inbox.notices.length > 0,
      },
      { continuePendingWork },
    );
    if (plan.calls === "interrupt") settleInterrupted(session);
    for (const id of plan.lost) await registry.lose(id, LOST);
    for (const ask of plan.expected) tree.asks.expect(ask, left.answers.get(ask.requestId));
    for (const { requestId } of plan.dropped) tree.asks.settled(requestId);
    // The main agent first: an agent that has only its end to tell must not make the session look idle.
    if (plan.main === "continue") runner.continuePending();
    else if (plan.main === "wake" || session.inbox.notices.length > 0) runner.wake();
    for (const id of plan.continued)
      await registry.continue(id).catch((error: unknown) => registry.lose(id, messageOf(error)));
  }

  /** Where the server was told so, a session that nobody uses closes by itself; its clients may resume it. */
  #watchIdle(hosted: HostedSession): void {
    const seconds = this.runtime.idleTimeoutSeconds;
    if (seconds <= 0 || hosted.isClosing) return;
    clearTimeout(this.#idle.get(hosted.session.id));
    const timer = setTimeout(() => {
      this.#idle.delete(hosted.session.id);
      if (hosted.runner.isRunning || hosted.runner.owesIdle) this.#watchIdle(hosted);
      else void hosted.close();
    }, seconds * 1000);
    timer.unref();
    this.#idle.set(hosted.session.id, timer);
  }

  #acquire(id: string): void {
    if (this.store.acquire(id, thisProcess())) return;
    throw locked(id, this.store.holder(id)?.pid);
  }

  #touched(hosted: HostedSession, record: SessionRecord): void {
    const { title } = hosted.session.state;
    if (title !== undefined && title !== record.summary) {
      record.summary = title;
      record.name = title;
      this.store.updateSession(record.id, { summary: title, name: title });
    }
    const metadata = {
      startTime: new Date(record.createdAt).toISOString(),
      modifiedTime: new Date(this.world.now()).toISOString(),
      ...(record.summary ? { summary: record.summary } : {}),
    };
    this.#options.onLifecycle({ type: "session.updated", sessionId: record.id, metadata });
  }
}

function metadataOf(record: SessionRecord | undefined): Lifecycle["metadata"] {
  if (!record) return undefined;
  return {
    startTime: new Date(record.createdAt).toISOString(),
    modifiedTime: new Date(record.updatedAt).toISOString(),
    ...(record.summary ? { summary: record.summary } : {}),
  };
}

function locked(id: string, pid: number | undefined): AppError {
  return new AppError(
    "session_locked",
    `Session ${id} is open in another process${pid === undefined ? "" : ` (pid ${pid})`}. Close it there first, or use another session.`,
  );
}
