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

export async function editScript(before: readonly string[], after: readonly string[]): Promise<Edit[]> {
  const start = commonPrefix(before, after);
  const end = commonSuffix(before, after, start);
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  return numbered([...times(start, " "), ...(await kindsOf(old, fresh)), ...times(end, " ")], before, after);
}

async function kindsOf(old: string[], fresh: string[]): Promise<Edit["kind"][]> {
  const block = [...times(old.length, "-"), ...times(fresh.length, "+")];
  if (old.length === 0 || fresh.length === 0) return block;
  const { diffArrays } = await import("diff/lib/diff/array.js");
  const changes = diffArrays(old, fresh, { maxEditLength: MAX_DISTANCE });
  return changes?.flatMap(({ removed, added, count }) => times(count, removed ? "-" : added ? "+" : " ")) ?? block;
}

const times = (count: number, kind: Edit["kind"]) => Array.from({ length: count }, () => kind);

function numbered(kinds: readonly Edit["kind"][], before: readonly string[], after: readonly string[]): Edit[] {
  let x = 0;
  let y = 0;
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
