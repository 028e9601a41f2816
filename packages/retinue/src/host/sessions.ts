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
import { settleInterrupted } from "../loop/calls.ts";
import { Limiter } from "../loop/slot.ts";
import type { Catalog } from "../models/catalog.ts";
import type { Ask } from "../permissions/asks.ts";
import { Rules } from "../permissions/rules.ts";
import { openAsks } from "../recovery/open-asks.ts";
import { replay } from "../recovery/replay.ts";
import { createFolder, removeFolder, sessionFolder } from "../session/folder.ts";
import { Inbox, type InboxEntry, readInbox } from "../session/inbox.ts";
import { Log } from "../session/log.ts";
import { Session } from "../session/session.ts";
import { SessionState } from "../session/state.ts";
import type { Lease, SessionRecord, Store } from "../store/store.ts";
import { TASK } from "../tasks/record.ts";
import { gitContext } from "../workspace/git-context.ts";
import { readInstructions } from "../workspace/instructions.ts";
import type { World } from "../world.ts";
import type { Client } from "./client.ts";
import { CLIENT_METADATA } from "./client-metadata.ts";
import type { RuntimeConfig } from "./config.ts";
import { checkTools, HostedSession } from "./hosted-session.ts";
import { withLease } from "./session-lease.ts";
import { SESSION_LIMITS } from "./session-limits.ts";
import type { TreeOptions } from "./tree.ts";
import { warnUnreadable } from "./unreadable.ts";

export interface SessionsOptions {
  store: Store;
  runtime: RuntimeConfig;
  catalog: Catalog;
  world: World;
  onLifecycle(change: Lifecycle): void;
  /** For whoever looks after this process: something that is stored beyond sessions cannot be read. */
  warn(message: string): void;
  /** What other parts add to every session tree. */
  extend?: Pick<TreeOptions, "extraTools" | "inherit">;
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

/** What a session is put together from, new or stored. */
interface Opening {
  lease: Lease;
  record: SessionRecord;
  context: SessionContext;
  state: SessionState;
  inbox: readonly InboxEntry[];
  lastId: string | null;
  count: number;
}

/** Documents that belong to one session and go with it. */
const OWN_DOCUMENTS = [TASK, CLIENT_METADATA, SESSION_LIMITS].map(({ kind }) => kind);

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
  /** What could not be read when a session was loaded, until there is a client to tell. */
  readonly #unread = new WeakMap<HostedSession, readonly string[]>();

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
    if (await this.store.sessions.get(id)) return await this.resume(client, { ...params, sessionId: id });
    return await this.#once(id, () =>
      withLease(this.store, id, (lease) => this.#createNew(lease, { client, config: params })),
    );
  }

  async resume(client: Client, params: ResumeSession): Promise<HostedSession> {
    const { sessionId: id, disableResume = false, continuePendingWork = false, ...config } = params;
    checkTools(config);
    const open = this.find(id);
    const isJoining = open !== undefined;
    if (!open) await this.#open.get(id)?.close(); // One that is just closing is waited for.
    const hosted = open ?? (await this.#once(id, () => this.#resumeStored(id, config)));
    hosted.join(client, config);
    this.#tellUnread(hosted);
    if (config.agent) this.#selectAgent(hosted, config.agent);
    if (config.model && config.model !== hosted.session.state.model) this.#switchModel(hosted, config);
    if (!disableResume) this.#announceResume(hosted, { isJoining, continuePendingWork });
    const left = this.#left.get(hosted);
    this.#left.delete(hosted);
    if (left) await this.#settle(hosted, left, continuePendingWork);
    await hosted.session.log.committed();
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
    const record = await this.store.sessions.get(id);
    if (!record || record.parentId) return false;
    await this.#open.get(id)?.close();
    await withLease(this.store, id, (lease) => this.store.sessions.delete(lease, { kinds: OWN_DOCUMENTS }));
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

  async #createNew(
    lease: Lease,
    { client, config }: { client: Client; config: SessionConfig },
  ): Promise<HostedSession> {
    const { rootId: id } = lease;
    const now = this.world.now();
    const cwd = config.workingDirectory ?? process.cwd();
    const context = await gitContext(cwd);
    const record: SessionRecord = {
      id,
      rootId: id,
      userNamed: false,
      createdAt: now,
      updatedAt: now,
      clientName: config.clientName,
      ...context,
    };
    createFolder(sessionFolder(this.runtime.home, id));
    const hosted = await this.#host(
      { lease, record, context, state: new SessionState(), inbox: [], lastId: null, count: 0 },
      config,
    );
    hosted.session.log.create(record);
    try {
      await this.#begin(hosted, { record, client, config });
    } catch (error) {
      await hosted.close().catch(() => undefined); // The client is told what went wrong first.
      throw error;
    }
    return hosted;
  }

  async #resumeStored(id: string, config: SessionConfig): Promise<HostedSession> {
    const record = VALID_ID.test(id) ? await this.store.sessions.get(id) : undefined;
    if (!record || record.parentId)
      throw new AppError("session_not_found", `Failed to load session events: Session not found: ${id}`);
    return await withLease(this.store, id, (lease) => this.#load(lease, { record, config }));
  }

  async #load(
    lease: Lease,
    { record, config }: { record: SessionRecord; config: SessionConfig },
  ): Promise<HostedSession> {
    const { rootId: id } = lease;
    const cwd = config.workingDirectory ?? record.cwd;
    const context = await gitContext(cwd);
    createFolder(sessionFolder(this.runtime.home, id));
    const events = await this.store.events.read(id);
    const { state, usage, lastId, count, problems: damaged } = replay(events, id);
    state.title = record.summary ?? state.title; // A name that somebody gave is not an event.
    const { entries, answers, problems: unread } = readInbox(await this.store.inbox(id));
    const tasks = await TASK.list(this.store.documents, `${id}/`);
    const hosted = await this.#host(
      { lease, record: { ...record, cwd }, context, state, inbox: entries, lastId, count },
      config,
    );
    const kept = new Map(answers.map(({ requestId, answer }) => [requestId, { value: answer }]));
    this.#left.set(hosted, { asks: openAsks(events, (requestId) => kept.has(requestId)), answers: kept });
    for (const [sessionId, totals] of usage) hosted.tree.usage.set(sessionId, totals);
    for (const { value } of tasks.found) hosted.tree.tasks.adopt(value);
    this.#unread.set(hosted, [...damaged, ...[...unread, ...tasks.problems].map(({ message }) => message)]);
    return hosted;
  }

  async #host(opening: Opening, config: SessionConfig): Promise<HostedSession> {
    const { lease, record, context, state, inbox, lastId, count } = opening;
    const { id, cwd } = record;
    const log = new Log({
      lease,
      store: this.store,
      world: this.world,
      lastId,
      count,
      onFailure: (error) => hosted.storeFailed(error),
    });
    const root = new Session({
      id,
      log,
      world: this.world,
      state,
      inbox: new Inbox({ sessionId: id, log, stored: inbox }),
      place: { workingDirectory: cwd, folder: sessionFolder(this.runtime.home, id) },
    });
    const rules = await this.#rulesOf(root, { context, config });
    const hosted: HostedSession = new HostedSession({
      root,
      rules,
      store: this.store,
      runtime: this.runtime,
      catalog: this.catalog,
      limiter: this.#limiter,
      config,
      context,
      customInstructions: readInstructions(config, cwd, context.gitRoot),
      ...this.#options.extend,
      onClosed: async () => {
        clearTimeout(this.#idle.get(id));
        this.#idle.delete(id);
        this.#open.delete(id);
        await this.store.leases.release(lease);
      },
    });
    log.listen((events) => {
      if (events.some((event) => !event.ephemeral)) this.#touched(hosted, record);
      this.#watchIdle(hosted);
    });
    this.#open.set(id, hosted);
    return hosted;
  }

  async #begin(
    hosted: HostedSession,
    { record, client, config }: { record: SessionRecord; client: Client; config: SessionConfig },
  ): Promise<void> {
    const { session } = hosted;
    hosted.join(client, config);
    const model = hosted.tree.models.choose(config.model).id;
    this.#options.onLifecycle({
      type: "session.created",
      sessionId: hosted.id,
      metadata: metadataOf(record),
    });
    session.append("session.start", {
      sessionId: hosted.id,
      version: 1,
      producer: "retinue",
      copilotVersion: this.runtime.version,
      startTime: new Date(this.world.now()).toISOString(),
      selectedModel: model,
      ...(config.reasoningEffort ? { reasoningEffort: config.reasoningEffort } : {}),
      contextTier: null,
      context: hosted.tree.context,
      remoteSteerable: false,
      alreadyInUse: false,
    });
    if (config.agent) this.#selectAgent(hosted, config.agent);
    await session.log.committed();
  }

  #selectAgent({ tree, session }: HostedSession, name: string): void {
    const agent = tree.agents.getCustom(name);
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
      context: tree.context,
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
    if (!continuePendingWork) settleInterrupted(session);
    const own = tree.tasks.records.filter(({ status, ownerId }) => status === "running" && ownerId === session.id);
    for (const { id, mode, callId } of own) {
      const isGivenUp = mode === "sync" && !session.state.openCalls.has(callId);
      if (isGivenUp)
        await tree.tasks.lose(
          id,
          "The process that ran this agent ended, and the call that waited for it was given up.",
        );
    }
    for (const ask of left.asks) {
      const goesOn =
        ask.sessionId === session.id ? continuePendingWork : tree.tasks.get(ask.sessionId)?.status === "running";
      if (goesOn) tree.asks.expect(ask, left.answers.get(ask.requestId));
      else tree.asks.settled(ask.requestId);
    }
    // The main agent first: an agent that has only its end to tell must not make the session look idle.
    if (continuePendingWork) runner.continuePending();
    else if (session.inbox.notices.length > 0) runner.wake();
    for (const { id } of own.filter(({ status }) => status === "running")) {
      await tree.tasks.continue(id).catch((error: unknown) => tree.tasks.lose(id, messageOf(error)));
    }
  }

  /** Where the server was told so, a session that nobody uses closes by itself; its clients may resume it. */
  #watchIdle(hosted: HostedSession): void {
    const seconds = this.runtime.idleTimeoutSeconds;
    if (seconds <= 0 || hosted.isClosing) return;
    clearTimeout(this.#idle.get(hosted.id));
    const timer = setTimeout(() => {
      this.#idle.delete(hosted.id);
      if (hosted.runner.isRunning || hosted.runner.owesIdle) this.#watchIdle(hosted);
      else void hosted.close();
    }, seconds * 1000);
    timer.unref();
    this.#idle.set(hosted.id, timer);
  }

  #rulesOf(
    { log, place: { workingDirectory } }: Session,
    { context, config }: { context: SessionContext; config: SessionConfig },
  ): Promise<Rules> {
    const { additionalDirectories } = config;
    return Rules.load(
      { workingDirectory, additionalDirectories, locationKey: context.gitRoot },
      {
        documents: this.store.documents,
        keep: (change) => log.changeDocument(change),
        warn: (message) => this.#options.warn(message),
      },
    );
  }

  #tellUnread(hosted: HostedSession): void {
    warnUnreadable(hosted.session, this.#unread.get(hosted) ?? []);
    this.#unread.delete(hosted);
  }

  #touched(hosted: HostedSession, record: SessionRecord): void {
    const { title: summary = record.summary } = hosted.session.state;
    const metadata = metadataOf({ ...record, summary, updatedAt: this.world.now() });
    this.#options.onLifecycle({ type: "session.updated", sessionId: record.id, metadata });
  }
}

function metadataOf(record: SessionRecord): Lifecycle["metadata"] {
  return {
    startTime: new Date(record.createdAt).toISOString(),
    modifiedTime: new Date(record.updatedAt).toISOString(),
    ...(record.summary ? { summary: record.summary } : {}),
  };
}
