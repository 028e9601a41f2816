/**
 * What is kept of conversations, ours and those of other harnesses: sessions, their turns, and the changes to them.
 *
 * Plain data, the same for every store. The port is transcripts.ts; continuity/ decides what an event or a hook means for it.
 */

export const ROLES = ["user", "assistant", "tool", "system"] as const;
export type Role = (typeof ROLES)[number];

export interface NewTurn {
  role: Role;
  text: string;
  /** Set on a call (role assistant) and, where it is known, on its result (role tool). */
  tool?: string;
  callId?: string;
  /** The id of the line, message or part from which it was read. */
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

/** What identifies a session. When another harness of the same agent has taken the key, it is stored with the harness in front. */
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
  /** How the parent was found, or why it was not. */
  lineage?: string;
  createdAt: number;
  updatedAt: number;
  endedAt?: number;
  endReason?: string;
  turnCount: number;
  /** The number of its last turn; 0 before the first. Numbers are never reused. */
  lastSeq: number;
  /** The position of the reader of a foreign transcript, in the reader's own format. */
  reading?: string;
}

export interface Checkpoint {
  id: number;
  summary: string;
  entities: readonly string[];
  /** The last turn that the summary covers. */
  uptoSeq: number;
  /** compaction, reset, or the surface that asked for it: cli, api, mcp. */
  origin: string;
  at: number;
}

export interface NewCheckpoint {
  summary: string;
  origin: string;
  entities?: readonly string[];
}

/** A running call in another harness. */
export interface OpenCall {
  callId: string;
  tool: string;
  session: TranscriptSession;
}

/** One change to a session. A session that does not exist yet is created, `at` that time. */
export type TranscriptChange = { session: SessionName; at: number } & (
  | OpenedChange
  | { type: "titled"; title: string }
  /** Appends turns. `reading` moves in the same write. */
  | { type: "turns"; turns: readonly NewTurn[]; reading?: string }
  /** Covers every turn so far. */
  | ({ type: "checkpoint" } & NewCheckpoint)
  | { type: "parent"; parent: SessionName; how: string }
  | { type: "no-parent"; reason: string }
  | { type: "ended"; reason?: string }
  /** An ended session runs again. */
  | { type: "reopened" }
  | { type: "call-opened"; callId: string; tool: string }
  | { type: "call-closed"; callId: string }
  | { type: "calls-closed" }
  /** The session was started by this call; no other session can claim it. */
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
  /** The sessions as they were when the changes were drafted: undefined for one that did not exist. */
  expects?: readonly { session: SessionName; was: TranscriptSession | undefined }[];
}

export const MAX_TEXT = 1_000_000;
export const MAX_TOOL_TEXT = 16_000;

/** In its bytes, since a megabyte of nothing else would be a million replacements. */
function withoutNul(text: string): string {
  const bytes = Buffer.from(text, "utf16le");
  for (let at = 0; at < bytes.length; at += 2)
    if (bytes[at] === 0 && bytes[at + 1] === 0) bytes.writeUInt16LE(0x2400, at);
  return bytes.toString("utf16le");
}

/** The text of a turn as every store keeps it: without NUL, and when too long, cut in the middle. */
export function keptText({ role, text, tool }: Pick<NewTurn, "role" | "text" | "tool">): string {
  const max = role === "tool" || tool ? MAX_TOOL_TEXT : MAX_TEXT;
  const clean = text.includes("\0") ? withoutNul(text) : text;
  if (clean.length <= max) return clean;
  const half = Math.floor(max / 2);
  return `${clean.slice(0, half)}\n[${clean.length - 2 * half} characters left out]\n${clean.slice(-half)}`;
}
