/**
 * How one list of lines becomes another: the shortest script by Myers' algorithm, with a bound on its work.
 */
export interface Edit {
  kind: " " | "-" | "+";
  text: string;
  /** Line numbers, from 1, on both sides before this edit. */
  before: number;
  after: number;
}

/** More changed lines than this are shown as one replaced block. */
const MAX_DISTANCE = 400;

export function editScript(before: readonly string[], after: readonly string[]): Edit[] {
  const start = commonPrefix(before, after);
  const end = commonSuffix(before, after, start);
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  const kinds = shortest(old, fresh) ?? [...old.map(() => "-" as const), ...fresh.map(() => "+" as const)];
  const same = (count: number) => Array.from({ length: count }, () => " " as const);
  return numbered([...same(start), ...kinds, ...same(end)], before, after);
}

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

/** Undefined when the two are further apart than the bound. */
function shortest(a: readonly string[], b: readonly string[]): Edit["kind"][] | undefined {
  const trace: Map<number, number>[] = [];
  let reach = new Map([[1, 0]]);
  for (let distance = 0; distance <= Math.min(MAX_DISTANCE, a.length + b.length); distance++) {
    trace.push(new Map(reach));
    for (let k = -distance; k <= distance; k += 2) {
      let x = isDown(reach, k, distance) ? at(reach, k + 1) : at(reach, k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return walkBack(trace, a.length, b.length);
    }
    reach = new Map(reach);
  }
  return undefined;
}

const at = (reach: Map<number, number>, k: number) => reach.get(k) ?? 0;

/** Whether the furthest way onto diagonal k comes from above (a line added) and not from the left (one removed). */
const isDown = (reach: Map<number, number>, k: number, distance: number) =>
  k === -distance || (k !== distance && at(reach, k - 1) < at(reach, k + 1));

function walkBack(trace: readonly Map<number, number>[], endX: number, endY: number): Edit["kind"][] {
  const kinds: Edit["kind"][] = [];
  let x = endX;
  let y = endY;
  for (let distance = trace.length - 1; distance >= 0; distance--) {
    const reach = trace[distance] ?? new Map();
    const down = isDown(reach, x - y, distance);
    const fromK = x - y + (down ? 1 : -1);
    const fromX = distance === 0 ? 0 : at(reach, fromK);
    const fromY = distance === 0 ? 0 : fromX - fromK;
    while (x > fromX && y > fromY) {
      kinds.push(" ");
      x--;
      y--;
    }
    if (distance > 0) kinds.push(down ? "+" : "-");
    x = fromX;
    y = fromY;
  }
  return kinds.reverse();
}
