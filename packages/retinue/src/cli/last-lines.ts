/** The last lines of what a command has printed, in the width that there is. Nothing in them is hidden or steers the terminal. */
import { visible } from "@retinue/protocol";
import { fitted } from "./line-width.ts";

export const SHOWN_LINES = 5;
/** What is before that is not looked at: an output may have megabytes. */
const MAX_CHARACTERS = 20_000;

export function lastLines(output: string, columns: number): string[] {
  const end = output.slice(-MAX_CHARACTERS);
  const lines = end
    .split(/\r?\n/)
    .map(afterOverwriting)
    .filter((line) => line.trim() !== "");
  if (end.length < output.length && lines.length <= SHOWN_LINES) lines[0] = `…${lines[0] ?? ""}`;
  return lines.slice(-SHOWN_LINES).map((line) => shown(line, columns));
}

/** One line of foreign text with its tabs as spaces, cut to a width. */
export function shown(line: string, columns: number): string {
  // A character has at most two units and takes at least one column, so what is behind that is cut in any case.
  return fitted(visible(line.replaceAll("\t", "    ").slice(0, 2 * columns + 2)), columns);
}

/** A progress bar returns to the beginning of its line again and again: what it shows last counts, and a sign says that there was more. */
function afterOverwriting(line: string): string {
  const parts = line.split("\r").filter((part) => part.trim() !== "");
  return parts.length > 1 ? `…${parts.at(-1) ?? ""}` : (parts[0] ?? "");
}
