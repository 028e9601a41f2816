/**
 * The event log of one session tree: a root session and its child sessions, in one order, with one writer.
 *
 * Owns the envelope and the order. An event is recorded first and told to listeners after its commit; events of one
 * tick are one transaction. What an event means is in state.ts; where it is kept, in the store.
 */
import { AppError, type EventData, type EventType, isPersisted, messageOf } from "@retinue/protocol";
import type { Batch, InboxChange, InboxItem, Store } from "../store/store.ts";
import type { TranscriptChange } from "../store/transcript-records.ts";
import type { World } from "../world.ts";

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
  /** The session whose event it is. */
  readonly sessionId: string;
  readonly json: string;
}

export type Listener = (events: readonly LoggedEvent[]) => void;

/** What recorded events mean for the transcript, which is written in the same commit. */
export type TranscriptFold = (events: readonly LoggedEvent[]) => readonly TranscriptChange[];

export interface AppendOptions {
  sessionId: string;
  /** Tell it to listeners and keep nothing. The default follows from the type. */
  ephemeral?: boolean;
  /** Leave `agentId` off the envelope: clients expect asks of sub-agents without it. */
  untagged?: boolean;
}

export class Log {
  readonly rootId: string;
  readonly #store: Store;
  readonly #world: World;
  readonly #listeners = new Set<Listener>();
  readonly #onFailure: (error: AppError) => void;
  readonly #fold: TranscriptFold | undefined;
  #lastId: string | null;
  #count: number;
  #pending: LoggedEvent[] = [];
  #inbox: InboxChange[] = [];
  /** By kind and key: within one commit only the last state of a document counts. */
  #documents = new Map<string, { kind: string; key: string; json: string }>();
  #scheduled = false;
  #now = { ms: 0, iso: "" };

  constructor(options: {
    rootId: string;
    store: Store;
    world: World;
    /** The last recorded event, when the session was there before. */
    lastId?: string | null;
    count?: number;
    /** The store refused a commit that nobody waited for. */
    onFailure: (error: AppError) => void;
    fold?: TranscriptFold;
  }) {
    this.rootId = options.rootId;
    this.#store = options.store;
    this.#world = options.world;
    this.#lastId = options.lastId ?? null;
    this.#count = options.count ?? 0;
    this.#onFailure = options.onFailure;
    this.#fold = options.fold;
  }

  /** How many events are recorded. */
  get count(): number {
    return this.#count;
  }

  append<T extends EventType>(type: T, data: EventData<T>, options: AppendOptions): LoggedEvent {
    const { sessionId, ephemeral, untagged = false } = options;
    const isEphemeral = ephemeral ?? !isPersisted(type);
    const id = this.#world.newId();
    const timestamp = this.#timestamp();
    const parentId = this.#lastId;
    const envelope = {
      type,
      data,
      id,
      timestamp,
      parentId,
      ...(isEphemeral ? { ephemeral: true as const } : {}),
      ...(sessionId === this.rootId || untagged ? {} : { agentId: sessionId }),
    };
    const event: LoggedEvent = { ...envelope, sessionId, json: JSON.stringify(envelope) };
    if (!isEphemeral) {
      this.#lastId = id;
      this.#count++;
    }
    this.#pending.push(event);
    this.#schedule();
    return event;
  }

  /** A prompt that is acknowledged before it is in the log. */
  addToInbox(item: InboxItem): void {
    this.#inbox.push({ add: item });
    this.#schedule();
  }

  removeFromInbox(id: string): void {
    this.#inbox.push({ remove: id });
    this.#schedule();
  }

  /** A document that changes together with the events of this tick. */
  put(kind: string, key: string, json: string): void {
    this.#documents.set(`${kind}/${key}`, { kind, key, json });
    this.#schedule();
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Commits what is pending and tells it. Throws when the store refuses; nothing is told then, and nothing is lost. */
  flush(): void {
    const recorded = this.#pending.filter((event) => !event.ephemeral);
    if (recorded.length > 0 || this.#inbox.length > 0 || this.#documents.size > 0) {
      const batch: Batch = {
        rootId: this.rootId,
        events: recorded,
        inbox: this.#inbox,
        documents: [...this.#documents.values()],
        transcript: this.#fold?.(recorded),
        touch: { sessionId: this.rootId, at: this.#world.now() },
      };
      this.#store.commit(batch);
      this.#inbox = [];
      this.#documents = new Map();
    }
    if (this.#pending.length === 0) return;
    const told = this.#pending;
    this.#pending = [];
    for (const listener of this.#listeners) listener(told);
  }

  /** Resolves when everything that was appended so far is committed and told. Rejects when the store refuses; nothing is lost then. */
  async committed(): Promise<void> {
    this.flush();
  }

  /** Forgets the tail after a truncation: the chain goes on from `lastId`. */
  rewind({ lastId, count }: { lastId: string | null; count: number }): void {
    this.#lastId = lastId;
    this.#count = count;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      try {
        this.flush();
      } catch (error) {
        const failure =
          error instanceof AppError ? error : new AppError("internal", messageOf(error), { cause: error });
        this.#onFailure(failure);
      }
    });
  }

  #timestamp(): string {
    const ms = this.#world.now();
    if (ms !== this.#now.ms) this.#now = { ms, iso: new Date(ms).toISOString() };
    return this.#now.iso;
  }
}
