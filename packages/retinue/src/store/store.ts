/**
 * The store as a port, in terms of the domain. It may be remote: every call is a promise, and only `commit` writes for a session.
 *
 * Implementation: sqlite/; contract: store.contract.ts.
 */
import type { Boards } from "./boards.ts";
import type { TranscriptChange } from "./transcript-records.ts";
import type { TranscriptStore } from "./transcripts.ts";

export interface Store {
  /**
   * Writes a batch in one transaction: all of it, or nothing. Rejects with `lease_lost` when the writer's lease is not the
   * present one of the session, whatever else is in the batch.
   */
  commit(batch: Batch): Promise<void>;
  /** What waits to enter a session, in order. */
  inbox(sessionId: string): Promise<InboxItem[]>;
  readonly events: Events;
  readonly sessions: SessionRows;
  readonly documents: Documents;
  readonly leases: Leases;
  /** What is kept of conversations, ours and those of other harnesses. */
  readonly transcripts: TranscriptStore;
  /** What agents keep for later sessions of a repository. */
  readonly boards: Boards;
  close(): Promise<void>;
}

/** The changes of one session tree. They are applied in the order of these fields. */
export interface Batch {
  /** Checked in the same transaction. */
  lease: Lease;
  /** The time at which the root session counts as used. */
  at: number;
  /** New sessions of the tree. One that exists already stays unchanged, so a batch may be tried again. */
  created?: readonly SessionRecord[];
  /** Parts of the root session's row. */
  changed?: SessionChange;
  /** Removes the event with this id and all later ones. */
  cutFrom?: string;
  /** Child sessions to remove, with their inbox. */
  deleted?: readonly string[];
  events?: readonly NewEvent[];
  /** In order: an item may be removed and added again at another position. */
  inbox?: readonly InboxChange[];
  documents?: readonly DocumentChange[];
  /** The transcript changes of these events. */
  transcript?: readonly TranscriptChange[];
}

/** The right to write a session tree. Each number is given out once: the holder of an older one can no longer commit. */
export interface Lease {
  readonly rootId: string;
  readonly number: number;
}

/** A process, and when it was started: a later one may have the same pid. */
export interface Holder {
  readonly pid: number;
  readonly startedAt: number;
}

export interface Leases {
  /** While another living process holds the lease, returns that holder. The holder itself gets a new lease, which ends its old one. */
  acquire(rootId: string, holder: Holder): Promise<{ lease: Lease } | { heldBy: Holder }>;
  /** Undefined when no living process holds it. */
  holder(rootId: string): Promise<Holder | undefined>;
  /** Has no effect when another holder has taken the lease since. */
  release(lease: Lease): Promise<void>;
}

export interface Events {
  /** The events of a root session and its children, in order. */
  read(rootId: string, query?: EventQuery): Promise<StoredEvent[]>;
  count(rootId: string): Promise<number>;
  /** How many bytes they take. */
  size(rootId: string): Promise<number>;
}

/** One recorded event. `json` is the event as it goes over the wire. */
export interface StoredEvent {
  /** The order over the whole store; grows and is never reused. */
  pos: number;
  /** The session that the event belongs to: a root session or a child session. */
  sessionId: string;
  type: string;
  json: string;
}

/** An event to store: `json` is stored, the rest is for what is derived from it in the same transaction. */
export interface NewEvent {
  readonly sessionId: string;
  readonly type: string;
  readonly id: string;
  readonly timestamp: string;
  readonly data: object;
  readonly agentId?: string;
  readonly json: string;
}

export interface EventQuery {
  after?: number;
  before?: number;
  limit?: number;
  /** Only this session of the tree. */
  sessionId?: string;
  backward?: boolean;
}

export interface SessionRows {
  get(id: string): Promise<SessionRecord | undefined>;
  /** Root sessions, last used first. */
  list(filter?: SessionFilter): Promise<SessionRecord[]>;
  children(parentId: string): Promise<SessionRecord[]>;
  /**
   * Deletes the root session, its children, their events, inbox and transcripts, and the lease itself; also documents of these `kinds` whose
   * key is the session's id or begins with it and a slash. False when there was no such session.
   */
  delete(lease: Lease, options: { kinds: readonly string[] }): Promise<boolean>;
}

export interface SessionRecord {
  id: string;
  rootId: string;
  /** Absent for a root session. */
  parentId?: string;
  cwd: string;
  gitRoot?: string;
  repository?: string;
  branch?: string;
  clientName?: string;
  name?: string;
  userNamed: boolean;
  summary?: string;
  createdAt: number;
  updatedAt: number;
}

export type SessionChange = Partial<Omit<SessionRecord, "id" | "rootId" | "parentId" | "createdAt" | "updatedAt">>;
export type SessionFilter = Partial<Pick<SessionRecord, "cwd" | "gitRoot" | "repository" | "branch">>;

/** An inbox item: acknowledged, and not in the log yet. */
export interface InboxItem {
  id: string;
  sessionId: string;
  version: number;
  json: string;
}

export type InboxChange = { add: InboxItem } | { remove: Pick<InboxItem, "id" | "sessionId"> };

/**
 * Small named documents; document.ts gives them types. Those of a session are written by `commit`; those written here belong to no
 * session.
 */
export interface Documents {
  get(kind: string, key: string): Promise<StoredDocument | undefined>;
  /** Ordered by key. */
  list(kind: string, keyPrefix: string): Promise<StoredDocument[]>;
  write(changes: readonly DocumentChange[]): Promise<void>;
}

export interface StoredDocument {
  kind: string;
  key: string;
  version: number;
  json: string;
}

export type DocumentChange = { put: StoredDocument } | { remove: { kind: string; key: string } };
