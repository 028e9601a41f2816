/** A change to a file as a few lines for somebody who was not asked about it. */
import { shown } from "./last-lines.ts";
import type { Tone } from "./paint.ts";

const MAX_LINES = 20;

export interface DiffLine {
  text: string;
  tone: Tone | undefined;
}

/** Without the head of the diff, which names the file once more. */
export function diffLines(diff: string, columns: number): DiffLine[] {
  const lines = diff.split("\n");
  const body = lines
    .slice(Math.max(0, lines.findIndex(isHunk)))
    .filter((line, at, all) => line !== "" || at < all.length - 1);
  const first = body.slice(0, MAX_LINES).map((line) => ({ text: shown(line, columns), tone: toneOf(line) }));
  const more = body.length - first.length;
  if (more === 0) return first;
  return [...first, { text: `… ${more} more line${more === 1 ? "" : "s"}`, tone: "dim" as const }];
}

const isHunk = (line: string): boolean => line.startsWith("@@");

function toneOf(line: string): Tone | undefined {
  if (line.startsWith("+")) return "good";
  if (line.startsWith("-")) return "bad";
  return isHunk(line) ? "dim" : undefined;
}
