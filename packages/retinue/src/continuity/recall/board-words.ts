/**
 * The context board in words: a bounded section for the system prompt, and whole for whoever asks.
 *
 * Notes were written by other agents, perhaps after they had read something hostile. So they stand between two marks that no note can
 * write, and the words before them say what they are.
 */
import { visible } from "@retinue/protocol";
import type { BoardEntry, BoardPlace } from "../../store/boards.ts";
import words from "./board-section.md";

/** About 1,500 tokens at most, in every request of the session. */
const MAX_SECTION = 6000;
const MAX_LINE = 400;

export interface BoardContent {
  place: BoardPlace;
  entries: readonly BoardEntry[];
  others: readonly { branch: string; entries: number }[];
}

/** Undefined when there is nothing to show. */
export function boardSection({ place, entries, others }: BoardContent): string | undefined {
  if (entries.length === 0 && others.length === 0) return undefined;
  const lines: string[] = [];
  let room = MAX_SECTION;
  for (const entry of [...entries].reverse()) {
    const line = shortLine(entry);
    if (line.length + 1 > room) break;
    lines.unshift(line);
    room -= line.length + 1;
  }
  const left = entries.length - lines.length;
  const older = left > 0 ? [`(${left} older ${left === 1 ? "note is" : "notes are"} not shown here.)`] : [];
  const body = [...older, ...lines, ...elsewhere(others)].join("\n");
  return words
    .trim()
    .replace("{{place}}", () => placeWords(place))
    .replace("{{notes}}", () => body);
}

/** All of it, for the tool. */
export function boardText({ place, entries, others }: BoardContent): string {
  const head = `The board of ${placeWords(place)}`;
  const all = entries.length === 0 ? `${head} is empty.` : `${head}:\n${entries.map(entryLine).join("\n")}`;
  return [all, ...elsewhere(others)].join("\n");
}

export function entryLine({ id, text, at, agent }: BoardEntry): string {
  return `${id} (${harmless(visible(agent))}, ${new Date(at).toISOString().slice(0, 10)}): ${harmless(text)}`;
}

export function placeWords({ branch }: BoardPlace): string {
  return branch === "" ? "this folder, with no branch checked out" : `the branch ${harmless(visible(branch))}`;
}

function shortLine(entry: BoardEntry): string {
  const line = entryLine(entry);
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}… (cut)` : line;
}

const MAX_OTHERS = 5;

function elsewhere(others: BoardContent["others"]): string[] {
  if (others.length === 0) return [];
  const named = others.slice(0, MAX_OTHERS).map(({ branch, entries }) => `${nameOf(branch)} (${entries})`);
  return [`Other branches with notes: ${named.join(", ")}${others.length > MAX_OTHERS ? ", …" : ""}`];
}

const nameOf = (branch: string): string => (branch === "" ? "no branch" : harmless(visible(branch)).slice(0, 100));

/** Without the signs of which our marks are made. */
const harmless = (text: string): string => text.replaceAll("<", "‹").replaceAll(">", "›");
