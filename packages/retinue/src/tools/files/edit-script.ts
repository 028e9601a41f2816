/** How one list of lines becomes another, with a bound on the work: what is too far apart is replaced as a whole. */
export interface Edit {
  kind: " " | "-" | "+";
  text: string;
  /** Line numbers, from 1, on both sides before this edit. */
  before: number;
  after: number;
}

/** More changed lines than this are shown as one replaced block. */
const MAX_DISTANCE = 400;
/** More lines than are shown around a change. */
const NEAR = 10;
/** Longer lists are not compared line by line. */
const MAX_COMPARED = 20_000;

/** Of the lines before the first change and after the last only the nearest are in the answer: a file may have a million of them. */
export async function editScript(before: readonly string[], after: readonly string[]): Promise<Edit[]> {
  const start = commonPrefix(before, after);
  const end = commonSuffix(before, after, start);
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  const near = Math.min(start, NEAR);
  const kinds = [...times(near, " "), ...(await kindsOf(old, fresh)), ...times(Math.min(end, NEAR), " ")];
  return numbered(kinds, { before, after, from: start - near });
}

/** How many lines are counted as changed. */
export async function countEdits(
  before: readonly string[],
  after: readonly string[],
): Promise<{ removed: number; added: number }> {
  const start = commonPrefix(before, after);
  const end = commonSuffix(before, after, start);
  const [removed, added] = [before.length - end - start, after.length - end - start];
  if (isOneBlock(removed, added)) return { removed, added };
  const kinds = await kindsOf(before.slice(start, before.length - end), after.slice(start, after.length - end));
  const count = (wanted: Edit["kind"]) => kinds.filter((kind) => kind === wanted).length;
  return { removed: count("-"), added: count("+") };
}

const isOneBlock = (removed: number, added: number): boolean =>
  removed === 0 || added === 0 || removed + added > MAX_COMPARED;

async function kindsOf(old: string[], fresh: string[]): Promise<Edit["kind"][]> {
  const block = [...times(old.length, "-"), ...times(fresh.length, "+")];
  if (isOneBlock(old.length, fresh.length)) return block;
  const { diffArrays } = await import("diff/lib/diff/array.js");
  const changes = diffArrays(old, fresh, { maxEditLength: MAX_DISTANCE });
  return changes?.flatMap(({ removed, added, count }) => times(count, removed ? "-" : added ? "+" : " ")) ?? block;
}

const times = (count: number, kind: Edit["kind"]) => Array.from({ length: count }, () => kind);

function numbered(
  kinds: readonly Edit["kind"][],
  { before, after, from }: { before: readonly string[]; after: readonly string[]; from: number },
): Edit[] {
  let x = from;
  let y = from;
  return kinds.map((kind) => {
    const edit = { kind, text: (kind === "+" ? after[y] : before[x]) ?? "", before: x + 1, after: y + 1 };
    if (kind !== "+") x++;
    if (kind !== "-") y++;
    return edit;
  });
}

function commonPrefix(a: readonly string[], b: readonly string[]): number {
  let count = 0;
  while (count < a.length && count < b.length && a[count] === b[count]) count++;
  return count;
}

function commonSuffix(a: readonly string[], b: readonly string[], start: number): number {
  const most = Math.min(a.length, b.length) - start;
  let count = 0;
  while (count < most && a[a.length - 1 - count] === b[b.length - 1 - count]) count++;
  return count;
}
