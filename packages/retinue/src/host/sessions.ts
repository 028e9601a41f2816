/**
 * The sessions of one runtime: created, resumed, joined, left, deleted.
 *
 * Owns which sessions are open in this process, and their leases. One open session is in hosted-session.ts; how it is put together, in
 * open-session.ts.
 */
import { randomUUID } from "node:crypto";
import { AppError, type CreateSession, messageOf, type ResumeSession, type SessionConfig } from "@retinue/protocol";
import type { RemoteAgents } from "../agents/remote-definitions.ts";
import { Limiter } from "../loop/slot.ts";
import { removeFolder, sessionFolder } from "../session/folder.ts";
import { isOutage } from "../session/outage.ts";
import { patiently } from "../store/patient-store.ts";
import type { SessionRecord, Store } from "../store/store.ts";
import { TASK } from "../tasks/record.ts";
import type { Client } from "../tree/client.ts";
import type { World } from "../world.ts";
import { RemoteAgentCatalog } from "./agent-catalog.ts";
import { CLIENT_METADATA } from "./client-metadata.ts";
import { concurrencyOf } from "./config.ts";
import { checkConfig, checkFolder } from "./config-check.ts";
import { CONSOLIDATED } from "./consolidation.ts";
import { ENVIRONMENT } from "./environment.ts";
import type { HostedSession } from "./hosted-session.ts";
import { IdleWatch } from "./idle-watch.ts";
import { type Loaded, type OpenOptions, openNew, openStored } from "./open-session.ts";
import { recordResume, recover } from "./resume.ts";
import { RUN_TIME } from "./run-time.ts";
import { selectAgent, startSelected, warnOfAbsent } from "./select-agent.ts";
import { withLease } from "./session-lease.ts";
import { SESSION_LIMITS } from "./session-limits.ts";
import { warnUnreadable } from "./unreadable.ts";

export interface SessionsOptions extends Omit<OpenOptions, "limiter" | "onClosed"> {
  onLifecycle(change: Lifecycle): void;
}

export interface Lifecycle {
  type: "session.created" | "session.updated" | "session.deleted";
  sessionId: string;
  metadata?: { startTime: string; modifiedTime: string; summary?: string };
}

/** Documents that belong to one session and are deleted with it. */
const OWN_DOCUMENTS = [TASK, CLIENT_METADATA, SESSION_LIMITS, RUN_TIME, ENVIRONMENT, CONSOLIDATED].map(
  ({ kind }) => kind,
);

/** Ids become folder names, so they must not contain a path. */
const VALID_ID = /^(?!\.)[A-Za-z0-9._:@-]{1,200}$/;

export class Sessions {
  readonly store: Store;
  readonly world: World;
  readonly shared: Pick<SessionsOptions, "runtime" | "catalog"> & {
    /** Those of the remote catalog that a session would have now. */
    remoteAgents(): RemoteAgents;
  };
  readonly #options: SessionsOptions;
  readonly #toOpen: OpenOptions;
  readonly #idle: IdleWatch;
  readonly #remoteAgents: RemoteAgentCatalog;
  readonly #open = new Map<string, HostedSession>();
  readonly #opening = new Map<string, Promise<HostedSession>>();
  /** What a loaded session has left open, until the first client that resumes it decides what happens to it. */
  readonly #loaded = new WeakMap<HostedSession, Loaded>();

  constructor(options: SessionsOptions) {
    const { store, world, runtime, catalog } = options;
    this.store = store;
    this.world = world;
    this.#options = options;
    this.#idle = new IdleWatch(() => runtime.idleTimeoutSeconds);
    this.#remoteAgents = new RemoteAgentCatalog({
      home: runtime.home,
      env: runtime.env,
      settings: () => catalog.agentCatalog?.(),
      now: () => world.now(),
    });
    this.shared = { runtime, catalog, remoteAgents: () => this.#remoteAgents.current() };
    this.#toOpen = {
      ...options,
      remoteAgents: this.shared.remoteAgents,
      limiter: new Limiter(() => concurrencyOf(runtime, catalog)),
      onClosed: (hosted) => {
        const { id } = hosted.session;
        this.#idle.forget(hosted);
        if (this.#open.get(id) === hosted) this.#open.delete(id);
      },
    };
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
    checkConfig(params);
    const known = this.find(id);
    if (known) {
      known.join(client, params);
      return known;
    }
    if (await this.store.sessions.get(id)) return await this.resume(client, { ...params, sessionId: id });
    checkFolder(params);
    return await this.#once(id, () => this.#createNew(id, client, params));
  }

  async resume(client: Client, params: ResumeSession): Promise<HostedSession> {
    const { sessionId: id, disableResume = false, continuePendingWork = false, ...config } = params;
    checkConfig(config);
    const open = this.find(id);
    const isJoining = open !== undefined;
    if (!open) await this.#open.get(id)?.close(); // Wait for one that is closing.
    const hosted = open ?? (await this.#once(id, () => this.#load(id, config)));
    const loaded = this.#loaded.get(hosted);
    this.#loaded.delete(hosted);
    try {
      hosted.join(client, config);
      if (loaded) warnUnreadable(hosted.session, loaded.problems);
      if (config.agent) selectAgent(hosted, config.agent);
      if (loaded) warnOfAbsent(hosted);
      startSelected(hosted);
      const { model, modelBefore } = hosted.session.state;
      if (config.model && config.model !== (modelBefore?.model ?? model)) useModel(hosted, config);
      if (!disableResume) recordResume(hosted, { isJoining, continuePendingWork });
      if (loaded) await recover(hosted, loaded.left, { continuePendingWork });
      await hosted.session.log.committed();
    } catch (error) {
      // Half a recovery is none: the next resume begins with what is stored.
      if (loaded && hosted.tree.participants.all.every((each) => each.client === client))
        await hosted.close({ isLost: true }).catch(() => undefined);
      throw error;
    }
    return hosted;
  }

  /** A client leaves one session, or all of them, if it has joined. When its connection was lost, work is parked. */
  async leave(client: Client, { id, isLost = false }: { id?: string; isLost?: boolean }): Promise<boolean> {
    // One whose close has failed is left again: that tries the close again.
    const open = id === undefined ? this.open : [this.#open.get(id)].filter((hosted) => hosted !== undefined);
    const left = open.filter(({ tree }) => tree.participants.of(client));
    await Promise.all(left.map((hosted) => hosted.leave(client, { isLost })));
    return left.length > 0;
  }

  async delete(id: string): Promise<boolean> {
    const record = await this.store.sessions.get(id);
    if (!record || record.parentId) return false;
    await this.#closeFor(id);
    await withLease(this.store, id, (lease) => this.store.sessions.delete(lease, { kinds: OWN_DOCUMENTS }));
    removeFolder(sessionFolder(this.shared.runtime.home, id));
    this.announce({ type: "session.deleted", sessionId: id });
    return true;
  }

  /** Sends every client of the runtime that a session was created, changed or deleted. */
  announce(change: Lifecycle): void {
    this.#options.onLifecycle(change);
  }

  /** Closes what can be closed, and says why the rest cannot: then the store has what was committed before. */
  async closeAll({ isLost = false }: { isLost?: boolean } = {}): Promise<string[]> {
    this.#remoteAgents.close();
    const all = [...this.#open.values()];
    const closed = await Promise.allSettled(all.map((hosted) => patiently(() => hosted.close({ isLost }))()));
    return closed.flatMap((each) =>
      each.status === "rejected" ? [`could not close a session: ${messageOf(each.reason)}`] : [],
    );
  }

  /** What a session that is about to be deleted has not written need not be written. */
  async #closeFor(deletedId: string): Promise<void> {
    await this.#open
      .get(deletedId)
      ?.close({ isDeleted: true })
      .catch((error: unknown) => {
        if (!isOutage(error)) throw error;
      });
  }

  /** Two simultaneous calls for one id open it once. */
  async #once(id: string, open: () => Promise<HostedSession>): Promise<HostedSession> {
    const running = this.#opening.get(id);
    if (running) return await running;
    const opening = open().finally(() => this.#opening.delete(id));
    this.#opening.set(id, opening);
    return await opening;
  }

  #createNew(id: string, client: Client, config: SessionConfig): Promise<HostedSession> {
    return withLease(this.store, id, async (lease) => {
      const { hosted, record } = await openNew(lease, config, this.#toOpen);
      this.#keep(hosted, record);
      try {
        await this.#begin(hosted, { record, client, config });
      } catch (error) {
        await hosted.close({ isDiscarded: true }).catch(() => undefined); // The client gets the first error.
        removeFolder(sessionFolder(this.shared.runtime.home, id));
        this.announce({ type: "session.deleted", sessionId: id });
        throw error;
      }
      return hosted;
    });
  }

  async #load(id: string, config: SessionConfig): Promise<HostedSession> {
    const record = VALID_ID.test(id) ? await this.store.sessions.get(id) : undefined;
    if (!record || record.parentId)
      throw new AppError("session_not_found", `Failed to load session events: Session not found: ${id}`);
    checkFolder(config);
    return await withLease(this.store, id, async (lease) => {
      const loaded = await openStored(lease, { record, config }, this.#toOpen);
      this.#loaded.set(loaded.hosted, loaded);
      this.#keep(loaded.hosted, loaded.record);
      return loaded.hosted;
    });
  }

  #keep(hosted: HostedSession, record: SessionRecord): void {
    const { session } = hosted;
    const first = metadataOf(record);
    session.log.listen((events) => {
      this.#idle.touch(hosted);
      if (events.every(({ ephemeral }) => ephemeral)) return;
      const metadata = {
        startTime: first.startTime,
        modifiedTime: new Date(this.world.now()).toISOString(),
        summary: session.state.title || first.summary,
      };
      this.announce({ type: "session.updated", sessionId: record.id, metadata });
    });
    this.#open.set(record.id, hosted);
  }

  async #begin(
    hosted: HostedSession,
    { record, client, config }: { record: SessionRecord; client: Client; config: SessionConfig },
  ): Promise<void> {
    const { session, tree } = hosted;
    hosted.join(client, config);
    const { models, context } = tree.configuration;
    const selectedModel = models.choose(config.model).id;
    this.announce({ type: "session.created", sessionId: record.id, metadata: metadataOf(record) });
    session.append("session.start", {
      sessionId: record.id,
      version: 1,
      producer: "retinue",
      copilotVersion: this.shared.runtime.version,
      startTime: new Date(this.world.now()).toISOString(),
      selectedModel,
      reasoningEffort: config.reasoningEffort || undefined,
      contextTier: null,
      context,
      remoteSteerable: false,
      alreadyInUse: false,
    });
    if (config.agent) selectAgent(hosted, config.agent);
    await session.log.committed();
  }
}

function useModel({ session }: HostedSession, { model = "", reasoningEffort = "" }: SessionConfig): void {
  session.append("session.model_change", {
    newModel: model,
    previousModel: session.state.model,
    reasoningEffort: reasoningEffort || null,
    contextTier: null,
    source: "sdk",
  });
}

function metadataOf({ createdAt, updatedAt, summary }: SessionRecord): NonNullable<Lifecycle["metadata"]> {
  return {
    startTime: new Date(createdAt).toISOString(),
    modifiedTime: new Date(updatedAt).toISOString(),
    summary: summary || undefined,
  };
}
