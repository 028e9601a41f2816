/**
 * Reads a growing file of JSON lines from where the last reading ended: whole lines only, in bounded memory.
 *
 * A half-written last line is left for the next time. A line over `MAX_LINE` is skipped, even when it comes in pieces.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

export const MAX_LINE = 8 * 1024 * 1024;
const CHUNK = 256 * 1024;

export interface Position {
  /** Bytes consumed; the next line begins here. */
  offset: number;
  /** Inside a line that is too long, looking for its end. */
  skipping?: boolean;
}

export interface Lines {
  lines: string[];
  /** How many lines were skipped. */
  skipped: number;
  position: Position;
  atEnd: boolean;
}

/** The next lines, up to about `budget` bytes of them. */
export function readLines(path: string, from: Position, budget = 1024 * 1024): Lines {
  const file = openSync(path, "r");
  try {
    return collect(file, { from, size: fstatSync(file).size, budget });
  } finally {
    closeSync(file);
  }
}

export function inodeOf(path: string): { inode: number; size: number } {
  const file = openSync(path, "r");
  try {
    const { ino, size } = fstatSync(file);
    return { inode: ino, size };
  } finally {
    closeSync(file);
  }
}

function collect(file: number, { from, size, budget }: { from: Position; size: number; budget: number }): Lines {
  const lines: string[] = [];
  let { offset, skipping = false } = from;
  let skipped = 0;
  let read = offset;
  let parts: Buffer[] = [];
  while (read < size && (offset - from.offset < budget || parts.length > 0)) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK, size - read));
    const got = readSync(file, chunk, 0, chunk.length, read);
    if (got === 0) break;
    read += got;
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0 && end < got; end = chunk.indexOf(10, start)) {
      const piece = chunk.subarray(start, end);
      if (!skipping) lines.push(Buffer.concat([...parts, piece]).toString("utf8"));
      skipping = false;
      parts = [];
      start = end + 1;
      offset = read - got + start;
    }
    if (skipping) offset = read;
    else if (start < got) parts.push(chunk.subarray(start, got));
    if (read - offset > MAX_LINE) {
      skipping = true;
      skipped++;
      parts = [];
      offset = read;
    }
  }
  return { lines, skipped, position: { offset, ...(skipping && { skipping }) }, atEnd: read >= size };
}
