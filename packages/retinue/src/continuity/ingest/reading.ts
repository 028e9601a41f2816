/**
 * How far a foreign session has been read, and reading on from there.
 *
 * State is kept with the session and moves in the same write as the turns, so a crash or a missed hook loses nothing and repeats nothing.
 * A turn that a hook told first is `awaited`: when the file brings it, it is not stored again.
 */
import { createHash } from "node:crypto";
import { AppError, messageOf } from "@retinue/protocol";
import type { Database } from "../../store/sqlite-door.ts";
import { addCheckpoint } from "../records/checkpoints.ts";
import { inTransaction, sql } from "../records/transaction.ts";
import { appendTurns, lastSeq, type NewTurn, type TranscriptSession } from "../records/transcripts.ts";
import { inodeOf, type Position, readLines } from "./readers/jsonl.ts";
import { LINE_READERS, type LineReader, parseLine, type Read } from "./readers/reader.ts";

export interface Reading {
  path?: string;
  inode?: number;
  position: Position;
  awaited: string[];
  /** How much of a transcript that comes whole each time was seen, and the mark of its last turn. */
  inline?: { count: number; last: string };
}

const MAX_AWAITED = 32;

export function readingOf(db: Database, sessionId: number): Reading {
  const state = sql(db, "SELECT reading FROM transcript_sessions WHERE id = ?").get(sessionId)?.reading;
  return typeof state === "string" ? JSON.parse(state) : { position: { offset: 0 }, awaited: [] };
}

/** Two tellings of the same turn have the same mark. */
export function markOf({ role, text }: Pick<NewTurn, "role" | "text">): string {
  return createHash("sha1")
    .update(`${role}\n${text.replace(/\s+/g, " ").trim()}`)
    .digest("base64url")
    .slice(0, 16);
}

/** Stores turns that a hook told before the transcript has them. The same words twice in a row are one turn told twice. */
export function recordTold(
  db: Database,
  session: TranscriptSession,
  { turn, now, isAwaited }: { turn: NewTurn; now: number; isAwaited: boolean },
): void {
  inTransaction(db, () => {
    const last = sql(db, "SELECT role, text FROM transcript_turns WHERE session_id = ? ORDER BY seq DESC LIMIT 1").get(
      session.id,
    );
    if (last && markOf({ role: last.role, text: last.text }) === markOf(turn)) return;
    const reading = readingOf(db, session.id);
    const awaited = isAwaited ? [...reading.awaited, markOf(turn)].slice(-MAX_AWAITED) : reading.awaited;
    appendTurns(db, session, [turn], { now, reading: JSON.stringify({ ...reading, awaited }) });
  });
}

/** Reads what is new in the session's transcript file. A file that is not there yet, or no more, is not an error. */
export function readOn(
  db: Database,
  session: TranscriptSession,
  { path, now }: { path?: string; now: number },
): number {
  const readLine = LINE_READERS[session.harness];
  const before = readingOf(db, session.id);
  const file = path ?? before.path;
  if (!readLine || file === undefined) return 0;
  try {
    const found = inodeOf(file);
    if (before.path === file && before.inode === found.inode && before.position.offset === found.size) return 0;
    // Another process may be reading the same file: where to go on is looked up under the lock.
    return inTransaction(db, () => {
      const reading = onFile(readingOf(db, session.id), { path: file, ...found });
      return readFile(db, session, { path: file, reading, readLine, now });
    });
  } catch (error) {
    if (isMissing(error)) return before.path === file ? 0 : rememberPath(db, session, { ...before, path: file });
    if (error instanceof AppError) throw error;
    const message = `Cannot read the transcript of ${session.sessionKey}: ${messageOf(error)}`;
    throw new AppError("store_unavailable", message, { cause: error });
  }
}

/** A moved file goes on where it was; another file in its place is read from its beginning. */
function onFile(reading: Reading, { path, inode, size }: { path: string; inode: number; size: number }): Reading {
  const isSame = reading.inode === undefined || (reading.inode === inode && size >= reading.position.offset);
  return { ...reading, path, inode, position: isSame ? reading.position : { offset: 0 } };
}

interface FileRead {
  path: string;
  reading: Reading;
  readLine: LineReader;
  now: number;
}

function readFile(db: Database, session: TranscriptSession, { path, reading, readLine, now }: FileRead): number {
  const known = reading.position.offset === 0 ? allSources(db, session.id) : new Set();
  const isNew = (read: Read) =>
    read.type !== "turn" || read.turn.sourceId === undefined || !known.has(read.turn.sourceId);
  let state = reading;
  let stored = 0;
  for (let atEnd = false; !atEnd; ) {
    const chunk = readLines(path, state.position);
    atEnd = chunk.atEnd;
    if (chunk.position.offset === state.position.offset) break;
    const reads = chunk.lines.flatMap((line) => readLine(parseLine(line) ?? {})).filter(isNew);
    if (chunk.skipped > 0) reads.push(leftOut(chunk.skipped));
    const awaited = [...state.awaited];
    state = { ...state, position: chunk.position, awaited };
    stored += store(db, session, { state, reads, now });
  }
  return stored;
}

/** Takes what was awaited out of `state.awaited`. */
function store(
  db: Database,
  session: TranscriptSession,
  { state, reads, now }: { state: Reading; reads: readonly Read[]; now: number },
): number {
  return inTransaction(db, () => {
    const turns: NewTurn[] = [];
    const flush = () => appendTurns(db, session, turns.splice(0), { now, reading: JSON.stringify(state) });
    let stored = 0;
    for (const read of reads) {
      if (read.type === "checkpoint") {
        stored += flush();
        addCheckpoint(db, {
          sessionId: session.id,
          summary: read.summary,
          uptoSeq: lastSeq(db, session.id),
          origin: "compaction",
          at: now,
        });
      } else if (!take(state.awaited, markOf(read.turn))) turns.push(read.turn);
    }
    return stored + flush();
  });
}

function take(awaited: string[], mark: string): boolean {
  const at = awaited.indexOf(mark);
  if (at >= 0) awaited.splice(at, 1);
  return at >= 0;
}

/** Only needed when a file is read from its beginning: the first time there are none, after a replacement they tell what is old. */
export function allSources(db: Database, sessionId: number): Set<unknown> {
  const found = sql(db, "SELECT source_id FROM transcript_turns WHERE session_id = ? AND source_id IS NOT NULL").all(
    sessionId,
  );
  return new Set(found.map((row) => row.source_id));
}

function rememberPath(db: Database, session: TranscriptSession, reading: Reading): number {
  return appendTurns(db, session, [], { now: session.updatedAt, reading: JSON.stringify(reading) });
}

const leftOut = (count: number): Read => ({
  type: "turn",
  turn: { role: "system", text: `[${count} line${count > 1 ? "s" : ""} of the transcript left out: too long]` },
});
const isMissing = (error: unknown) =>
  error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
