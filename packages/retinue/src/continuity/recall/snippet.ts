/** The part of a turn around what was looked for, without secrets. */

import { redactInTurns } from "../../secrets/redact.ts";
import type { Turn } from "../../store/transcript-records.ts";
import type { Term } from "../../store/transcripts.ts";
import { speaker } from "../records/speaker.ts";

const BEFORE = 160;
const AFTER = 320;

export async function snippet(turn: Turn, terms: readonly Term[]): Promise<string> {
  // Secrets are removed first: a cut through the middle of one would hide it from the rules.
  const [text = ""] = await redactInTurns([turn.text]);
  const at = firstMatch(text, terms);
  const start = at > BEFORE ? wordStart(text, at - BEFORE) : 0;
  const end = Math.min(text.length, at + AFTER);
  const shown = text.slice(start, end).replace(/\s+/g, " ").trim();
  return `${speaker(turn)}: ${start > 0 ? "… " : ""}${shown}${end < text.length ? " …" : ""}`;
}

/** The position of the longest of the words. The index finds other endings of a word, so its beginning is enough. */
function firstMatch(text: string, terms: readonly Term[]): number {
  const lower = text.toLowerCase();
  const words = terms.flatMap((term) => term.words).sort((a, b) => b.length - a.length);
  for (const word of words) {
    const whole = lower.indexOf(word);
    const at = whole >= 0 ? whole : lower.indexOf(word.slice(0, Math.max(3, word.length - 3)));
    if (at >= 0) return at;
  }
  return 0;
}

function wordStart(text: string, from: number): number {
  const space = text.slice(from, from + 40).search(/\s/);
  return space < 0 ? from : from + space + 1;
}
