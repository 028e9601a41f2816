/**
 * What is kept of conversations, ours and those of other harnesses: sessions, their turns, and the changes that are written to them.
 *
 * Plain data, the same for every store. How it is asked for is in transcripts.ts; what an event or a hook means for it is decided in continuity/.
 */

export const ROLES = ["user", "assistant", "tool", "system"] as const;
export type Role = (typeof ROLES)[number];

export interface NewTurn {
  role: Role;
  text: string;
  /** Set on a call (role assistant) and, where it is known, on its result (role tool). */
  tool?: string;
  callId?: string;
  /** The id of the line, message or part that it was read from. */
  sourceId?: string;
  at?: number;
}

export interface Turn extends NewTurn {
  id: number;
  seq: number;
  at: number;
}

export const DEFAULT_AGENT = "default";
/** The harness of the sessions that this runtime runs itself. */
export const OWN_HARNESS = "retinue";

/** What tells one session from every other. A key that another harness of the same agent has taken is stored with the harness in front. */
export interface SessionName {
  agentId: string;
  sessionKey: string;
  harness: string;
}

export interface TranscriptSession extends SessionName {
  id: number;
  project?: string;
  title?: string;
  parentId?: number;
  /** How the parent is known, or why it is not. */
  lineage?: string;
  createdAt: number;
  updatedAt: number;
  endedAt?: number;
  endReason?: string;
  turnCount: number;
  /** The number of its last turn; 0 before the first. Numbers are never used again. */
  lastSeq: number;
  /** Where the reader of a foreign transcript stands, in the reader's own words. */
  reading?: string;
}

export interface Checkpoint {
  id: number;
  summary: string;
  entities: readonly string[];
  /** The last turn that the summary covers. */
  uptoSeq: number;
  /** compaction, reset, or who asked for it: cli, api, mcp. */
  origin: string;
  at: number;
}

export interface NewCheckpoint {
  summary: string;
  origin: string;
  entities?: readonly string[];
}

/** A call that is under way in another harness. */
export interface OpenCall {
  callId: string;
  tool: string;
  session: TranscriptSession;
}

/** One change to a session. A session that is named and not there yet is made, `at` that time. */
export type TranscriptChange = { session: SessionName; at: number } & (
  | OpenedChange
  | { type: "titled"; title: string }
  /** Goes to the end. `reading` moves in the same write. */
  | { type: "turns"; turns: readonly NewTurn[]; reading?: string }
  /** Covers every turn so far. */
  | ({ type: "checkpoint" } & NewCheckpoint)
  | { type: "parent"; parent: SessionName; how: string }
  | { type: "no-parent"; reason: string }
  | { type: "ended"; reason?: string }
  /** A session that had ended goes on. */
  | { type: "reopened" }
  | { type: "call-opened"; callId: string; tool: string }
  | { type: "call-closed"; callId: string }
  | { type: "calls-closed" }
  /** The session was started by this call; no other session can be. */
  | { type: "call-claimed"; call: OpenCall }
);

/** Facts that were unknown are filled in; a project replaces the one before. */
export interface OpenedChange {
  type: "opened";
  project?: string;
  /** Takes the project of this session. */
  projectOf?: SessionName;
  title?: string;
}

/** Changes that are stored together or not at all. */
export interface TranscriptBatch {
  changes: readonly TranscriptChange[];
  /** As the sessions were when the changes were worked out: undefined for one that was not there. */
  expects?: readonly { session: SessionName; was: TranscriptSession | undefined }[];
}

export const MAX_TEXT = 1_000_000;
export const MAX_TOOL_TEXT = 16_000;

/** The text of a turn as every store keeps it: without NUL, and bounded with both its ends. */
export function keptText({ role, text, tool }: Pick<NewTurn, "role" | "text" | "tool">): string {
  const max = role === "tool" || tool ? MAX_TOOL_TEXT : MAX_TEXT;
  const clean = text.includes("\0") ? text.replaceAll("\0", "\u2400") : text;
  if (clean.length <= max) return clean;
  const half = Math.floor(max / 2);
  return `${clean.slice(0, half)}\n[${clean.length - 2 * half} characters left out]\n${clean.slice(-half)}`;
}
