/**
 * A root session put together in this process: from nothing, or from its log.
 *
 * Owns the way from the store to a `HostedSession`. Which sessions are open is in sessions.ts; what happens to work that an earlier
 * process left open is in resume.ts.
 */
import { messageOf, type SessionConfig, type SessionContext } from "@retinue/protocol";
import { FileHooks } from "../hooks/file-hooks.ts";
import type { Environment } from "../loop/prompt.ts";
import type { Limiter } from "../loop/slot.ts";
import type { Catalog } from "../models/catalog.ts";
import { Rules } from "../permissions/rules.ts";
import { SessionPlugins } from "../plugins/session-plugins.ts";
import { ProcessLedger } from "../processes/process-ledger.ts";
import { ProjectGate } from "../project/gate.ts";
import { FolderTrust } from "../project/trust.ts";
import { isOpen, leftOpen, runsIn } from "../recovery/left-open.ts";
import { keptAsks, openAsks } from "../recovery/open-asks.ts";
import { openHooks } from "../recovery/open-hooks.ts";
import { replay } from "../recovery/replay.ts";
import { createFolder, sessionFolder } from "../session/folder.ts";
import { Inbox, type InboxEntry, readInbox } from "../session/inbox.ts";
import { Log, type TranscriptFold } from "../session/log.ts";
import { Session } from "../session/session.ts";
import { SessionState } from "../session/state.ts";
import type { Lease, SessionRecord, Store } from "../store/store.ts";
import { TASK } from "../tasks/record.ts";
import { gitContext } from "../workspace/git-context.ts";
import { readInstructions } from "../workspace/instructions.ts";
import type { World } from "../world.ts";
import type { TreeOptions } from "./composition.ts";
import type { RuntimeConfig } from "./config.ts";
import { ENVIRONMENT, environmentOf } from "./environment.ts";
import { HostedSession } from "./hosted-session.ts";
import { readyToLook } from "./project-notices.ts";
import type { LeftBehind } from "./resume.ts";
import { RUN_TIME } from "./run-time.ts";
import { releaseLease } from "./session-lease.ts";
import { type KeptLimits, readKeptLimits, withKept } from "./session-limits.ts";
import { onStoreFailure, sendRecovery } from "./store-failure.ts";

export interface OpenOptions {
  store: Store;
  runtime: RuntimeConfig;
  catalog: Catalog;
  world: World;
  limiter: Limiter;
  /** A stored document that belongs to no session cannot be read; goes to the diagnostic log. */
  warn(message: string): void;
  /** Agents of the remote catalog. */
  remoteAgents?: TreeOptions["remoteAgents"];
  /** What other parts add to every session tree. */
  extend?: Pick<TreeOptions, "extraTools" | "inherit" | "boardSection" | "consolidations">;
  /** How the transcript of a session tree is kept in step with its log. */
  transcribe?: (rootId: string) => TranscriptFold;
  onClosed(hosted: HostedSession): void;
  /** A session was closed for good, and everything of it is stored: nobody was lost, and nothing is to go on. */
  onEnded?(hosted: HostedSession): Promise<void>;
}

export interface Loaded {
  hosted: HostedSession;
  record: SessionRecord;
  left: LeftBehind;
  /** Why some stored data could not be read. */
  problems: readonly string[];
}

/** What a session is put together from, whether it is new or stored. */
interface Opening {
  lease: Lease;
  record: SessionRecord;
  context: SessionContext;
  state: SessionState;
  inbox: readonly InboxEntry[];
  lastId: string | null;
  count: number;
  /** Looked at before, for a session that was stored. */
  environment?: Environment;
}

export async function openNew(
  lease: Lease,
  config: SessionConfig,
  options: OpenOptions,
): Promise<{ hosted: HostedSession; record: SessionRecord }> {
  const { rootId: id } = lease;
  const now = options.world.now();
  const context = await gitContext(config.workingDirectory ?? process.cwd());
  const { clientName } = config;
  const record = { id, rootId: id, userNamed: false, createdAt: now, updatedAt: now, clientName, ...context };
  createFolder(sessionFolder(options.runtime.home, id));
  const opening = { lease, record, context, state: new SessionState(), inbox: [], lastId: null, count: 0 };
  const hosted = await host(opening, config, options);
  hosted.session.log.create(record);
  return { hosted, record };
}

export async function openStored(
  lease: Lease,
  { record: stored, config: given }: { record: SessionRecord; config: SessionConfig },
  options: OpenOptions,
): Promise<Loaded> {
  const { rootId: id } = lease;
  const { store, runtime } = options;
  const record = { ...stored, cwd: given.workingDirectory ?? stored.cwd };
  const context = await gitContext(record.cwd);
  createFolder(sessionFolder(runtime.home, id));
  const events = await store.events.read(id);
  const { state, usage, lastId, count, problems: damaged } = replay(events, id);
  state.title = record.summary ?? state.title; // A name that a person gave is only in the row, not in an event.
  const { entries: inbox, answers, asks, problems: unread } = readInbox(await store.inbox(id));
  const tasks = await TASK.list(store.documents, `${id}/`);
  const { limits, workedMs, environment, problems: unknown } = await readKept(store, id);
  const config = withKept(given, limits, state.selectedAgent);
  const hosted = await host({ lease, record, context, state, inbox, lastId, count, environment }, config, options);
  if (limits.policy) hosted.tree.rules.change({ denied: limits.policy.denied }); // Until a client names others.
  hosted.tree.usage.restart(usage);
  hosted.main.budget.restore(hosted.tree.usage.byRun());
  const inOrder = tasks.found.map(({ value }) => value).sort((a, b) => a.startedAt - b.startedAt);
  const runs = runsIn(events);
  for (const task of inOrder) {
    const own = runs.get(task.id);
    if (task.kind === "agent") {
      task.owesEnd = own !== undefined && isOpen(own); // The log decides what was told.
      task.runs = own?.starts;
    }
    hosted.tasks.registry.records.add(task);
  }
  const goesOn = (sessionId: string) =>
    sessionId === id || inOrder.some((task) => task.id === sessionId && task.status === "running");
  const kept = new Map(answers.map(({ requestId, answer }) => [requestId, { value: answer }]));
  return {
    hosted,
    record,
    left: {
      asks: [...openAsks(events, (requestId) => kept.has(requestId)), ...keptAsks(asks)],
      answers: kept,
      unowned: leftOpen(events, goesOn),
      hooks: openHooks(events),
      workedMs,
    },
    problems: [...damaged, ...[...unread, ...tasks.problems].map(({ message }) => message), ...unknown],
  };
}

/** What a client that resumes need not say again, and how far the main agent's run had got. */
async function readKept(
  store: Store,
  id: string,
): Promise<{ limits: KeptLimits; workedMs: number; environment: Environment | undefined; problems: string[] }> {
  const problems: string[] = [];
  const unread = (error: unknown) => {
    problems.push(messageOf(error));
    return undefined;
  };
  const limits = await readKeptLimits(store, id).catch(unread);
  const run = await RUN_TIME.get(store.documents, id).catch(unread);
  const environment = await ENVIRONMENT.get(store.documents, id).catch(unread);
  return { limits: limits ?? {}, workedMs: run?.workedMs ?? 0, environment, problems };
}

function openFileHooks(gate: ProjectGate, { runtime, store }: OpenOptions): FileHooks {
  const { home, env, hooksOnError } = runtime;
  const family = () => new ProcessLedger(store).family();
  return new FileHooks({ home, env, gate, isStrict: hooksOnError === "deny", family });
}

async function host(opening: Opening, config: SessionConfig, options: OpenOptions): Promise<HostedSession> {
  const { lease, record, context, state, inbox, lastId, count } = opening;
  const { store, world, runtime } = options;
  const { id, cwd } = record;
  const fold = options.transcribe?.(id);
  const log = new Log({
    lease,
    store,
    world,
    lastId,
    count,
    fold,
    onFailure: (error) => onStoreFailure(hosted, error),
    onRecovered: () => sendRecovery(hosted),
  });
  const root = new Session({
    id,
    log,
    world,
    state,
    inbox: new Inbox({ sessionId: id, log, stored: inbox }),
    place: { workingDirectory: cwd, folder: sessionFolder(runtime.home, id) },
  });
  const gate = new ProjectGate(cwd, new FolderTrust({ documents: store.documents, warn: options.warn }));
  if (config.enableConfigDiscovery) await Promise.all([gate.refresh(), readyToLook()]);
  const plugins = new SessionPlugins(runtime.home, cwd);
  await plugins.refresh(config);
  const fileHooks = openFileHooks(gate, options);
  await fileHooks.refresh(config, plugins.current.hooks);
  const instructions = readInstructions(config, cwd, context.gitRoot);
  const hosted: HostedSession = new HostedSession({
    ...options,
    ...options.extend,
    root,
    rules: await rulesOf(root, { context, config }, options),
    config,
    context,
    environment: environmentOf(root, { runtime, context, kept: opening.environment }),
    gate,
    fileHooks,
    plugins,
    instructions,
    onClosed: async ({ isParked }) => {
      options.onClosed(hosted);
      await releaseLease(store, lease);
      if (!isParked) await options.onEnded?.(hosted);
    },
  });
  return hosted;
}

function rulesOf(
  { log, place: { workingDirectory } }: Session,
  { context, config }: { context: SessionContext; config: SessionConfig },
  { store, warn }: OpenOptions,
): Promise<Rules> {
  const { additionalDirectories } = config;
  const place = { workingDirectory, additionalDirectories, locationKey: context.gitRoot };
  return Rules.load(place, { documents: store.documents, keep: (change) => log.changeDocument(change), warn });
}
