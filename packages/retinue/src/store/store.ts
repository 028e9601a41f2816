/**
 * The one database, in words of meaning. Implementations: sqlite.ts (default); the contract is store.contract.ts.
 *
 * Calls are synchronous where the loop needs them (SQLite is); an append returns when its rows are committed.
 */

import type { TranscriptChange } from "./transcript-records.ts";
import type { TranscriptStore } from "./transcripts.ts";

/** One recorded event. `json` is the event as it goes over the wire. */
export interface StoredEvent {
  /** Order over the whole store; grows, never reused. */
  pos: number;
  /** The session that the event belongs to: a root session or a child session. */
  sessionId: string;
  type: string;
  json: string;
}

export interface NewEvent {
  sessionId: string;
  type: string;
  id: string;
  json: string;
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

/** A prompt that was acknowledged and is not in the log yet. */
export interface InboxItem {
  id: string;
  sessionId: string;
  json: string;
}

export interface Store {
  /** Events, inbox changes and touched sessions of one tick, in one transaction. */
  commit(batch: Batch): void;
  /** All events of a root session and its children, in order. */
  events(rootId: string, options?: EventQuery): StoredEvent[];
  countEvents(rootId: string): number;
  /** How many bytes the events of a session take. */
  sizeOf(rootId: string): number;
  /** Removes the event with this id and everything after it; returns how many. */
  truncate(rootId: string, eventId: string): number;

  createSession(session: SessionRecord): void;
  updateSession(id: string, change: Partial<Omit<SessionRecord, "id">>): void;
  session(id: string): SessionRecord | undefined;
  /** Root sessions, last used first. */
  sessions(filter?: { cwd?: string; gitRoot?: string; repository?: string; branch?: string }): SessionRecord[];
  children(parentId: string): SessionRecord[];
  /** The session, its children, their events, inbox, tasks and transcripts. */
  deleteSession(id: string): boolean;

  inbox(sessionId: string): InboxItem[];

  /** Small named documents: approvals of a folder, task records. */
  put(kind: string, key: string, json: string): void;
  get(kind: string, key: string): string | undefined;
  list(kind: string, keyPrefix: string): { key: string; json: string }[];
  remove(kind: string, key: string): void;

  /** Takes the right to write a session. Undefined when a living process has it; then `holder` tells which. */
  acquire(rootId: string, holder: { pid: number; startedAt: number }): boolean;
  holder(rootId: string): { pid: number; startedAt: number } | undefined;
  release(rootId: string): void;

  /** What is kept of conversations, ours and those of other harnesses. */
  readonly transcripts: TranscriptStore;

  close(): void;
}

export interface Batch {
  events?: readonly NewEvent[];
  rootId?: string;
  /** In order: an item may leave and come back at another place. */
  inbox?: readonly InboxChange[];
  touch?: { sessionId: string; at: number };
  /** Documents that change together with these events. */
  documents?: readonly { kind: string; key: string; json: string }[];
  /** What these events mean for the transcript. */
  transcript?: readonly TranscriptChange[];
}

export type InboxChange = { add: InboxItem } | { remove: string };

export interface EventQuery {
  after?: number;
  before?: number;
  limit?: number;
  /** Only this session of the tree. */
  sessionId?: string;
  backward?: boolean;
}
