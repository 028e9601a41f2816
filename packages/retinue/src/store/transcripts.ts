/**
 * The port of continuity: what is kept of conversations, in terms of the domain. A store may be remote, so every call is a promise, and what
 * belongs together is one call.
 *
 * There is no transaction to hold open. A writer reads, drafts its changes, and writes them together with what it has read (`expects`); when
 * a session has changed meanwhile, nothing is written and the writer starts again. Implementation: sqlite/transcripts; contract:
 * transcripts.contract.ts.
 */
import type {
  Checkpoint,
  NewCheckpoint,
  OpenCall,
  SessionName,
  TranscriptBatch,
  TranscriptSession,
  Turn,
} from "./transcript-records.ts";

export interface TranscriptStore {
  /** Stores the changes in one transaction. */
  record(batch: TranscriptBatch): Promise<Recorded>;
  readonly sessions: TranscriptSessions;
  readonly turns: TranscriptTurns;
  readonly checkpoints: Checkpoints;
  readonly calls: OpenCalls;
  readonly entities: Entities;
  readonly agents: AgentSettings;
  readonly tokens: ScopedTokens;
  readonly retention: Retention;
  readonly index: TurnIndex;
  readonly search: TurnSearch;
}

export interface Recorded {
  /** False when nothing was stored: a session is not as expected, or a call is claimed already. */
  isStored: boolean;
  /** A full batch of turns waits for the index. */
  isIndexDue: boolean;
}

/** How many turns are a full batch for the index. */
export const INDEX_BATCH = 64;

export interface TranscriptSessions {
  /** The session of this name, and the key under which it is or would be stored. */
  resolve(name: SessionName): Promise<{ name: SessionName; session?: TranscriptSession }>;
  byId(id: number): Promise<TranscriptSession | undefined>;
  /** Every session with this key; more than one only when several agents use it. */
  byKey(key: string, harness?: string): Promise<TranscriptSession[]>;
  /** Every session of the tree that this one belongs to: the root first, then in the order in which they were created. */
  tree(id: number): Promise<TranscriptSession[]>;
  /** Last used first. Remains of deleted sessions are not listed. */
  list(query: SessionQuery): Promise<TranscriptSession[]>;
  /** Sessions of one agent, harness and project that have not ended. */
  running(query: { agentId: string; harness: string; project?: string; limit: number }): Promise<TranscriptSession[]>;
  /** Sessions that are read from a file and have not ended, used after this time. */
  followed(query: { since: number }): Promise<TranscriptSession[]>;
}

/** What an agent may read: its own sessions; when it reads `shared`, also those of agents whose visibility is `global`. */
export interface ReadScope {
  agentId: string;
  /** Only this folder and what is below it. */
  folder?: string;
  /** Not what is below it. */
  isExact?: boolean;
}

export interface SessionQuery extends ReadScope {
  project?: string;
  harness?: string;
  isRunning?: boolean;
  limit: number;
  offset: number;
}

export interface TranscriptTurns {
  read(sessionId: number, query?: TurnQuery): Promise<Turn[]>;
  /** Every `sourceId` that the session has. */
  sources(sessionId: number): Promise<ReadonlySet<string>>;
}

export interface TurnQuery {
  /** Only turns with a greater number. */
  after?: number;
  /** Only turns with a smaller number. */
  before?: number;
  limit?: number;
  /** Newest first. */
  backward?: boolean;
}

export interface Checkpoints {
  /** Covers every turn so far. */
  add(sessionId: number, checkpoint: NewCheckpoint & { at: number }): Promise<Checkpoint>;
  /** Newest first. */
  list(sessionId: number, limit?: number): Promise<Checkpoint[]>;
}

export interface OpenCalls {
  /** The session that made this call; undefined when none or several did. */
  caller(callId: string): Promise<TranscriptSession | undefined>;
  /** Unclaimed calls of a session and of those whose key begins with its own, oldest first. */
  unclaimed(query: { root: TranscriptSession; since: number }): Promise<OpenCall[]>;
}

export const ATTRIBUTE_KINDS = ["attribute", "constraint"] as const;
export type AttributeKind = (typeof ATTRIBUTE_KINDS)[number];

export interface Entity {
  name: string;
  agentId: string;
  attributes: { id: number; kind: AttributeKind; content: string }[];
}

export interface NewAttribute {
  agentId: string;
  entity: string;
  kind: AttributeKind;
  content: string;
  at: number;
}

export interface Entities {
  /** Adding an existing value changes nothing. */
  add(entity: { agentId: string; name: string; at: number }): Promise<void>;
  /** Creates the entity when it does not exist. */
  addAttribute(attribute: NewAttribute): Promise<number>;
  list(agentId: string): Promise<Entity[]>;
  remove(agentId: string, name: string): Promise<boolean>;
  removeAttribute(agentId: string, id: number): Promise<boolean>;
}

export interface AgentSharing {
  reads: "isolated" | "shared";
  visibility: "private" | "global";
}

export interface AgentSettings {
  get(agentId: string): Promise<AgentSharing>;
  set(agentId: string, sharing: AgentSharing): Promise<void>;
}

/** A token that is bound to an agent, a project, or both. */
export interface ScopedToken {
  name: string;
  agentId?: string;
  project?: string;
}

/** Tokens by the hash of their secret; the secret itself is not stored. */
export interface ScopedTokens {
  /** False when the name is taken. */
  add(token: ScopedToken & { hash: string; at: number }): Promise<boolean>;
  find(hash: string): Promise<ScopedToken | undefined>;
  list(): Promise<ScopedToken[]>;
  remove(name: string): Promise<boolean>;
}

export interface Retention {
  /** Deletes the session and everything below it; returns how many. One read from a file keeps its position, so as not to come back. */
  delete(sessionId: number): Promise<number>;
  /** Deletes sessions not used since a time, and the oldest ones above a size; returns how many. */
  prune(limits: { unusedSince?: number; maxBytes?: number }): Promise<number>;
}

/** Turns for the full-text index: continuity decides which words the store indexes. */
export interface WaitingTurns {
  /** To be passed back to `add`. */
  mark: IndexMark;
  turns: readonly { id: number; sessionId: number; text: string; tool?: string }[];
}

export interface IndexMark {
  indexedUpto: number;
  deletions: number;
}

export interface TurnIndex {
  /** How many turns are not in the index yet, counted up to a limit. */
  backlog(upto: number): Promise<number>;
  next(limit: number): Promise<WaitingTurns>;
  /** False when nothing was added, because turns were indexed or deleted meanwhile. */
  add(mark: IndexMark, entries: readonly { id: number; sessionId: number; words: string }[]): Promise<boolean>;
  /** One bounded step of merging the index's segments, so that a search reads few of them. True while there is more to do. */
  tidy(pages?: number): Promise<boolean>;
  /** Grows with every write of this process. */
  writes(): Promise<number>;
}

/** One term of a query: adjacent words, the last of which may be a prefix. */
export interface Term {
  readonly words: readonly string[];
  readonly isPrefix: boolean;
}

export interface SearchWithin extends ReadScope {
  sessionId?: number;
  /** Only the tree that this session belongs to. */
  treeOf?: number;
  project?: string;
  harness?: string;
  since?: number;
  until?: number;
}

export interface Match {
  /** The turn. */
  id: number;
  at: number;
  relevance: number;
}

export interface TurnSearch {
  /**
   * Turns with all the terms; when there are fewer than wanted, also turns with any of the rare ones. The work is bounded whatever the size
   * of the store: of very many matches only the newest are ranked.
   */
  matches(question: {
    terms: readonly Term[];
    within: SearchWithin;
    wanted: number;
  }): Promise<{ all: Match[]; some: Match[] }>;
  /** The turns with these ids and their sessions, in this order. */
  turns(ids: readonly number[]): Promise<{ turn: Turn; session: TranscriptSession }[]>;
}
