/**
 * The event log of one session tree: a root session and its child sessions, in one order, with one writer.
 *
 * Owns the envelope, the order and the way into the store. Appending is synchronous and cheap. The events of one tick are committed in
 * one transaction, one commit at a time, and listeners are notified after it. There are two barriers. `committed()` tries once, for an
 * answer that somebody waits for; `recorded()` waits for a store that refuses, for work that has an effect outside. What an event means is in state.ts; where it is kept, in the store.
 */
import { AppError, type EventData, type EventType, isPersisted, messageOf } from "@retinue/protocol";
import { hideKnownValues, withoutKnownValues } from "../secrets/known-values.ts";
import type { Batch, DocumentChange, InboxChange, Lease, SessionChange, SessionRecord, Store } from "../store/store.ts";
import type { TranscriptChange } from "../store/transcript-records.ts";
import type { World } from "../world.ts";
import { isOutage, Outage } from "./outage.ts";

/** An event as it was appended. `json` is the whole envelope, serialised once for the store and every client. */
export interface LoggedEvent {
  readonly type: EventType;
  readonly data: object;
  readonly id: string;
  readonly timestamp: string;
  readonly parentId: string | null;
  readonly ephemeral?: true;
  /** Absent for the root session. */
  readonly agentId?: string;
  /** The session that the event belongs to. */
  readonly sessionId: string;
  readonly json: string;
}

/** Turns recorded events into changes of the transcript, which are written in the same commit. */
export type TranscriptFold = (events: readonly LoggedEvent[]) => readonly TranscriptChange[];

export type Listener = (events: readonly LoggedEvent[]) => void;

export interface AppendOptions {
  sessionId: string;
  /** Notify listeners and do not store the event. The default depends on the type. */
  ephemeral?: boolean;
  /** Leave `agentId` off the envelope: clients expect asks of sub-agents without it. */
  untagged?: boolean;
}

export interface LogOptions {
  lease: Lease;
  store: Pick<Store, "commit">;
  world: World;
  /** The last recorded event of a session that is opened again. */
  lastId?: string | null;
  count?: number;
  fold?: TranscriptFold;
  /** Called once when the store begins to refuse, and when a commit that no barrier waits for fails otherwise. */
  onFailure: (error: AppError) => void;
  /** Called when a store that refused has written everything. */
  onRecovered?: () => void;
}

/** The tail of a log to cut, and what is removed with it in the same transaction. */
export interface Cut extends Pick<Batch, "deleted" | "documents"> {
  /** The first event to remove. */
  from: string;
  /** The event before it, and how many are left. */
  lastId: string | null;
  count: number;
}

export class Log {
  readonly rootId: string;
  readonly #lease: Lease;
  readonly #store: Pick<Store, "commit">;
  readonly #world: World;
  readonly #fold: TranscriptFold | undefined;
  readonly #listeners = new Set<Listener>();
  readonly #onFailure: (error: AppError) => void;
  readonly #onRecovered: () => void;
  readonly #outage = new Outage(() => this.#commitSoon());
  #isDiscarded = false;
  #lastId: string | null;
  #count: number;
  #draft: Draft = emptyDraft();
  /** The current commit, until its listeners were notified. */
  #committing: Promise<void> | undefined;
  /** The commit after it, when a barrier waits for that. */
  #next: Promise<void> | undefined;
  #isScheduled = false;
  #now = { ms: 0, iso: "" };

  constructor({ lease, store, world, lastId = null, count = 0, fold, onFailure, onRecovered }: LogOptions) {
    this.rootId = lease.rootId;
    this.#lease = lease;
    this.#store = store;
    this.#world = world;
    this.#lastId = lastId;
    this.#count = count;
    this.#fold = fold;
    this.#onFailure = onFailure;
    this.#onRecovered = onRecovered ?? (() => undefined);
  }

  /** How many events are recorded. */
  get count(): number {
    return this.#count;
  }

  append<T extends EventType>(type: T, data: EventData<T>, options: AppendOptions): LoggedEvent {
    const event = this.#eventOf(type, data, options);
    if (!event.ephemeral) {
      this.#lastId = event.id;
      this.#count++;
    }
    this.#draft.events.push(event);
    this.#schedule();
    return event;
  }

  #eventOf(type: EventType, data: object, options: AppendOptions): LoggedEvent {
    const { sessionId, ephemeral, untagged = false } = options;
    const envelope = {
      type,
      data,
      id: this.#world.newId(),
      timestamp: this.#timestamp(),
      parentId: this.#lastId,
      ephemeral: (ephemeral ?? !isPersisted(type)) ? (true as const) : undefined,
      agentId: sessionId === this.rootId || untagged ? undefined : sessionId,
    };
    return withoutSecrets({ ...envelope, sessionId, json: JSON.stringify(envelope) });
  }

  /** Adds a session of this tree, stored with the events of this tick. */
  create(session: SessionRecord): void {
    this.#draft.created.push(withoutKnownValues(session));
    this.#schedule();
  }

  /** Changes parts of the root session's row. */
  describe(change: SessionChange): void {
    this.#draft.changed = { ...this.#draft.changed, ...withoutKnownValues(change) };
    this.#schedule();
  }

  /** Adds or removes an inbox item. One that is removed before it was written is never written. */
  changeInbox(change: InboxChange): void {
    const { inbox } = this.#draft;
    const added = "remove" in change ? inbox.findLastIndex((other) => isAddOf(other, change.remove)) : -1;
    if (added >= 0) inbox.splice(added, 1);
    else inbox.push(withoutKnownValues(change));
    this.#schedule();
  }

  /** Changes a document together with the events of this tick. */
  changeDocument(change: DocumentChange): void {
    const { kind, key } = "put" in change ? change.put : change.remove;
    this.#draft.documents.set(`${kind}/${key}`, withoutKnownValues(change));
    this.#schedule();
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Resolves when everything appended so far is committed and listeners were notified. Rejects when the store refuses: then listeners
   * are not notified, nothing is lost, and the next commit tries all of it again, in the same order.
   */
  committed(): Promise<void> {
    if (!this.#committing) return this.#commit();
    if (isEmpty(this.#draft)) return this.#committing;
    this.#next ??= this.#afterCurrent();
    return this.#next;
  }

  /**
   * Like `committed`, but a store that refuses is waited for: the work that asks has begun, and would otherwise end for a reason of which
   * its log knows nothing. Rejects when the signal is aborted meanwhile, when the log is closed, and when the lease is lost.
   */
  async recorded({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    try {
      await this.committed();
    } catch (error) {
      if (!isOutage(error)) throw error;
      if (this.#outage.isOn) await this.#outage.wait(error, signal);
    }
  }

  /** Nobody waits for the store any more. With `discard`, what is not written is dropped, and nothing is written from now on. */
  close({ discard = false }: { discard?: boolean } = {}): void {
    this.#isDiscarded ||= discard;
    if (this.#isDiscarded) this.#draft = emptyDraft();
    this.#outage.close();
  }

  /** Cuts the tail, after everything appended before is committed. When the store refuses, the log stays unchanged. */
  async cut({ from, lastId, count, ...gone }: Cut): Promise<void> {
    while (this.#committing || !isEmpty(this.#draft)) await this.committed();
    const cutting = this.#store.commit({ lease: this.#lease, at: this.#world.now(), cutFrom: from, ...gone });
    void this.#alone(cutting.catch(() => undefined)); // Other commits wait for the cut; only its caller gets its error.
    await cutting;
    this.#lastId = lastId;
    this.#count = count;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      // A store that refuses is tried again in its own time, not with every event.
      if (!this.#outage.isOn) this.#commitSoon();
    });
  }

  #commitSoon(): void {
    if (isEmpty(this.#draft)) return;
    this.committed().catch((error: unknown) => {
      if (!isOutage(error)) this.#fail(error);
    });
  }

  /** Barriers on the current commit get its outcome; the next commit is tried in either case. */
  async #afterCurrent(): Promise<void> {
    await this.#committing?.catch(() => undefined);
    this.#next = undefined;
    await this.committed();
  }

  #commit(): Promise<void> {
    if (isEmpty(this.#draft)) return Promise.resolve();
    const draft = this.#draft;
    this.#draft = emptyDraft();
    return this.#alone(this.#write(draft));
  }

  /** Lets nothing else be committed until this work has settled. */
  #alone(work: Promise<void>): Promise<void> {
    this.#committing = work;
    const settled = () => {
      this.#committing = undefined;
    };
    work.then(settled, settled); // Registered first, so that callers which await the work can commit again.
    return work;
  }

  async #write(draft: Draft): Promise<void> {
    if (this.#isDiscarded) return;
    try {
      const batch = this.#batchOf(draft);
      await (batch && this.#store.commit(batch));
    } catch (error) {
      if (!this.#isDiscarded) this.#draft = joined(draft, this.#draft);
      if (isOutage(error) && this.#outage.failed()) this.#onFailure(error);
      throw error;
    }
    if (this.#outage.isOn) {
      this.#outage.over();
      this.#schedule(); // What was appended meanwhile has not been tried.
      this.#onRecovered();
    }
    if (draft.events.length > 0) this.#notify(draft.events);
  }

  /** Undefined when there is nothing to store: ephemeral events only go to listeners. */
  #batchOf({ events, inbox, documents, created, changed }: Draft): Batch | undefined {
    const recorded = events.filter((event) => !event.ephemeral);
    const isNothing = recorded.length + inbox.length + documents.size + created.length === 0 && !changed;
    if (isNothing) return undefined;
    return {
      lease: this.#lease,
      at: this.#world.now(),
      created,
      changed,
      events: recorded,
      inbox,
      documents: [...documents.values()],
      transcript: this.#fold?.(recorded),
    };
  }

  #notify(events: readonly LoggedEvent[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(events);
      } catch (error) {
        this.#fail(error); // The events are committed, so the other listeners must still be notified.
      }
    }
  }

  #fail(error: unknown): void {
    this.#onFailure(error instanceof AppError ? error : new AppError("internal", messageOf(error), { cause: error }));
  }

  #timestamp(): string {
    const ms = this.#world.now();
    if (ms !== this.#now.ms) this.#now = { ms, iso: new Date(ms).toISOString() };
    return this.#now.iso;
  }
}

function isAddOf(change: InboxChange, { id, sessionId }: { id: string; sessionId: string }): boolean {
  return "add" in change && change.add.id === id && change.add.sessionId === sessionId;
}

/** Values that are known to be secret reach neither the store nor a client. Looking is cheap: nearly every event has none. */
function withoutSecrets(event: LoggedEvent): LoggedEvent {
  const json = hideKnownValues(event.json);
  return json === event.json ? event : { ...event, data: withoutKnownValues(event.data), json };
}

/** What was appended and is not part of a commit yet. */
interface Draft {
  events: LoggedEvent[];
  inbox: InboxChange[];
  created: SessionRecord[];
  changed: SessionChange | undefined;
  /** By kind and key: a commit stores only the last state of a document. */
  documents: Map<string, DocumentChange>;
}

function emptyDraft(): Draft {
  return { events: [], inbox: [], created: [], changed: undefined, documents: new Map() };
}

function isEmpty({ events, inbox, created, changed, documents }: Draft): boolean {
  return events.length === 0 && inbox.length === 0 && documents.size === 0 && created.length === 0 && !changed;
}

/** Joins a draft that the store refused and what was appended since. */
function joined(earlier: Draft, later: Draft): Draft {
  return {
    events: [...earlier.events, ...later.events],
    inbox: [...earlier.inbox, ...later.inbox],
    created: [...earlier.created, ...later.created],
    changed: earlier.changed || later.changed ? { ...earlier.changed, ...later.changed } : undefined,
    documents: new Map([...earlier.documents, ...later.documents]),
  };
}
