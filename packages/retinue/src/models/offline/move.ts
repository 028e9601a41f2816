/** What the offline model does next: make calls, or give its answer. */
import type { DoneCall } from "./conversation.ts";

export type Move = { type: "calls"; says: string; calls: readonly PlannedCall[] } | { type: "answer"; text: string };

export interface PlannedCall {
  name: string;
  args: Readonly<Record<string, unknown>>;
}

export const calls = (says: string, ...planned: PlannedCall[]): Move => ({ type: "calls", says, calls: planned });
export const answer = (...paragraphs: (string | undefined)[]): Move => ({
  type: "answer",
  text: paragraphs.filter((paragraph) => paragraph !== undefined && paragraph !== "").join("\n\n"),
});

export const view = (path: string, range?: [number, number]): PlannedCall => ({
  name: "view",
  args: { path, ...(range && { view_range: range }) },
});
export const glob = (pattern: string): PlannedCall => ({ name: "glob", args: { pattern } });
export const grep = (pattern: string, more: Readonly<Record<string, unknown>> = {}): PlannedCall => ({
  name: "grep",
  args: { pattern, ...more },
});

export function resultsOf(done: readonly DoneCall[], name: string): DoneCall[] {
  return done.filter((call) => call.name === name);
}

/** Lines of a result, without empty ones. */
export function linesOf(call: DoneCall | undefined): string[] {
  return call && !call.failed ? call.text.split("\n").filter((line) => line.trim() !== "") : [];
}

/** File names of a glob result, which is a sentence when there are none. */
export function namesOf(call: DoneCall | undefined): string[] {
  return linesOf(call).filter((line) => !/^no (files?|match)/i.test(line));
}

/** The first lines of a text in a block that Markdown shows as it is. */
export function quote(text: string, maxLines = 20): string {
  const lines = text.trimEnd().split("\n");
  const more = lines.length > maxLines ? [`… ${lines.length - maxLines} more lines`] : [];
  const shown = lines.slice(0, maxLines).map((line) => (line.length > 160 ? `${line.slice(0, 160)}…` : line));
  return ["````", ...shown, ...more, "````"].join("\n");
}

export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

export const literal = (term: string): string => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
