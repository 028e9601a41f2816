/**
 * Reads what is new in the transcript file of a session of another harness.
 *
 * The reading position moves in the same write as the turns, so a crash or a missed hook loses nothing and repeats nothing.
 * A turn that a hook brought first is `awaited`: when the file has it, it is not stored again.
 */
import { AppError, messageOf } from "@retinue/protocol";
import type { NewTurn, TranscriptSession } from "../../store/transcript-records.ts";
import type { TranscriptStore } from "../../store/transcripts.ts";
import { Draft, Moved, untilSaved } from "./draft.ts";
import { parseLine } from "./readers/fields.ts";
import { inodeOf, type Lines, readLines } from "./readers/jsonl.ts";
import { LINE_READERS, type LineReader } from "./readers/line-reader.ts";
import type { Read } from "./readers/read.ts";
import { markOf, type Reading } from "./reading-state.ts";

/** Reads what is new of a session that was read from the store a moment ago. Mostly there is nothing, and then nothing is asked or written. */
export async function readOn(
  store: TranscriptStore,
  session: TranscriptSession,
  { now }: { now: number },
): Promise<void> {
  let first: Draft | undefined = Draft.of(store, { session, now });
  await untilSaved(async () => {
    const draft = first ?? (await Draft.open(store, { name: session, now }));
    first = undefined;
    await readFile(draft);
    await draft.save();
  });
}

/** Drafts what is new in the session's file. A file that does not exist yet, or not any more, is not an error. */
export async function readFile(draft: Draft, path?: string): Promise<void> {
  const readLine = LINE_READERS[draft.name.harness];
  const file = path ?? draft.reading.path;
  if (!readLine || file === undefined) return;
  try {
    const found = { path: file, ...inodeOf(file) };
    if (!isAtEnd(draft.reading, found)) await readPieces(draft, { file: found, readLine });
  } catch (error) {
    if (error instanceof AppError || error instanceof Moved) throw error;
    if (isMissing(error)) return remember(draft, file);
    const message = `Cannot read the transcript of ${draft.name.sessionKey}: ${messageOf(error)}`;
    throw new AppError("store_unavailable", message, { cause: error });
  }
}

interface File {
  path: string;
  inode: number;
  size: number;
}

const isMissing = (error: unknown) =>
  error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");

const isAtEnd = (reading: Reading, { path, inode, size }: File) =>
  reading.path === path && reading.inode === inode && reading.position.offset === size;

/** The file will be looked for again. This alone does not count as use of the session. */
function remember(draft: Draft, path: string): void {
  if (draft.reading.path === path) return;
  draft.append([], { reading: { ...draft.reading, path }, at: draft.session?.updatedAt });
}

/** A moved file is read on from the same position; another file in its place is read from the beginning. */
function onFile(reading: Reading, { path, inode, size }: File): Reading {
  const isSame = reading.inode === undefined || (reading.inode === inode && size >= reading.position.offset);
  return { ...reading, path, inode, position: isSame ? reading.position : { offset: 0 } };
}

async function readPieces(draft: Draft, { file, readLine }: { file: File; readLine: LineReader }): Promise<void> {
  let state = onFile(draft.reading, file);
  // Only needed at the beginning of a file: after a replacement they show which turns are old.
  const known = state.position.offset === 0 ? await draft.sources() : new Set<string>();
  const isNew = (read: Read) =>
    read.type !== "turn" || read.turn.sourceId === undefined || !known.has(read.turn.sourceId);
  for (let atEnd = false; !atEnd; ) {
    const piece = readLines(file.path, state.position);
    atEnd = piece.atEnd;
    if (piece.position.offset === state.position.offset) return;
    state = { ...state, position: piece.position };
    state = take(draft, { reads: readsOf(piece, readLine).filter(isNew), state });
    if (!atEnd) await draft.saveSoFar();
  }
}

function readsOf({ lines, skipped }: Lines, readLine: LineReader): Read[] {
  const reads = lines.flatMap((line) => readLine(parseLine(line) ?? {}));
  if (skipped > 0) reads.push(leftOut(skipped));
  return reads;
}

const leftOut = (count: number): Read => ({
  type: "turn",
  turn: { role: "system", text: `[${count} line${count > 1 ? "s" : ""} of the transcript left out: too long]` },
});

/** Drafts what was read, except turns that were awaited; those are no longer awaited. */
function take(draft: Draft, { reads, state }: { reads: readonly Read[]; state: Reading }): Reading {
  const awaited = [...state.awaited];
  let turns: NewTurn[] = [];
  for (const read of reads) {
    if (read.type === "turn") {
      const at = awaited.indexOf(markOf(read.turn));
      if (at >= 0) awaited.splice(at, 1);
      else turns.push(read.turn);
      continue;
    }
    draft.append(turns);
    draft.add({ type: "checkpoint", summary: read.summary, origin: "compaction" });
    turns = [];
  }
  const reading = { ...state, awaited };
  draft.append(turns, { reading });
  return reading;
}

const MAX_AWAITED = 32;

/** Drafts a message that a hook brings before the transcript file has it. The same words twice in a row are one turn sent twice. */
export async function draftMessage(
  draft: Draft,
  { turn, isAwaited }: { turn: NewTurn; isAwaited: boolean },
): Promise<void> {
  const mark = markOf(turn);
  const [last] = await draft.newest(1);
  if (last && markOf(last) === mark) return;
  const { reading } = draft;
  const awaited = isAwaited ? [...reading.awaited, mark].slice(-MAX_AWAITED) : reading.awaited;
  draft.append([turn], { reading: { ...reading, awaited } });
}
