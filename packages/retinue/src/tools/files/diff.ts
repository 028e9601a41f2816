/**
 * A unified diff of two texts, with the header that git gives it.
 *
 * Which lines changed is in edit-script.ts; here they get their context, their ranges and a bound on their number.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { countEdits, type Edit, editScript } from "./edit-script.ts";

const CONTEXT = 3;
const MAX_LINES = 5000;

export interface Change {
  path: string;
  /** Absent: the file is new. */
  before?: string;
  after: string;
}

export async function unifiedDiff({ path, before, after }: Change): Promise<string> {
  const edits = await editScript(await linesInTurn(before ?? ""), await linesInTurn(after));
  const body = hunks(edits).flatMap(renderHunk);
  return bounded([...header(path, before === undefined), ...body]);
}

/** A diff that changes nothing: how a screen shows a part of a file with its line numbers. */
export function contextDiff(path: string, lines: readonly string[], firstLine: number): string {
  const range = `${firstLine},${lines.length}`;
  return bounded([...header(path, false), `@@ -${range} +${range} @@`, ...lines.map((line) => ` ${line}`)]);
}

/** How many lines a change takes away and adds. */
export async function countChanges(before: string, after: string): Promise<{ removed: number; added: number }> {
  return await countEdits(await linesInTurn(before), await linesInTurn(after));
}

/** A text of a million lines takes its time, so each is read in a turn of the loop of its own. */
async function linesInTurn(text: string): Promise<string[]> {
  const lines = linesOf(text);
  if (lines.length > MANY_LINES) await nextTurn();
  return lines;
}
const MANY_LINES = 20_000;

function header(path: string, isNew: boolean): string[] {
  const name = path.startsWith("/") ? path : `/${path}`;
  return [
    `diff --git a${name} b${name}`,
    ...(isNew ? ["new file mode 100644", "--- /dev/null"] : [`--- a${name}`]),
    `+++ b${name}`,
  ];
}

const NO_NEWLINE = "\n\\ No newline at end of file";

/** The last line carries the note when no line break ends it, so that it differs from the same line with one. */
function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  if (last !== "") lines.push(last + NO_NEWLINE);
  return lines;
}

/** Groups of changes that are more than twice the context apart. */
function hunks(edits: readonly Edit[]): Edit[][] {
  const groups: { from: number; to: number }[] = [];
  edits.forEach((edit, at) => {
    if (edit.kind === " ") return;
    const last = groups.at(-1);
    if (last && at - last.to <= 2 * CONTEXT) last.to = at;
    else groups.push({ from: at, to: at });
  });
  return groups.map(({ from, to }) => edits.slice(Math.max(0, from - CONTEXT), to + CONTEXT + 1));
}

function renderHunk(edits: Edit[]): string[] {
  const [first] = edits;
  if (!first) return [];
  const before = edits.filter((edit) => edit.kind !== "+").length;
  const after = edits.filter((edit) => edit.kind !== "-").length;
  const range = (line: number, count: number) => `${count === 0 ? line - 1 : line},${count}`;
  return [
    `@@ -${range(first.before, before)} +${range(first.after, after)} @@`,
    ...edits.map((edit) => edit.kind + edit.text),
  ];
}

function bounded(lines: string[]): string {
  if (lines.length <= MAX_LINES) return `${lines.join("\n")}\n`;
  return `${lines.slice(0, MAX_LINES).join("\n")}\n\\ ${lines.length - MAX_LINES} more lines are not shown\n`;
}
