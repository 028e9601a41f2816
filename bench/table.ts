/** Turns the numbers of a run into verdicts and a Markdown table. */
import type { Numbers } from "./measures.ts";
import type { Budget, Row } from "./rows.ts";
import { median } from "./timing.ts";

export interface Result {
  name: string;
  /** What each round gave. */
  rounds: Numbers[];
  /** Measures that could not be taken, with the reason. */
  failures: Record<string, string>;
}

export interface Verdict {
  budget: string;
  ratio: number;
  holds: boolean;
}

/** Our number divided by another's, round by round: the median, and the lowest and highest. */
export interface Ratio {
  median: number;
  low: number;
  high: number;
}

export interface Line {
  row: Row;
  ours: number | undefined;
  peers: { name: string; value: number | undefined; ratio: Ratio | undefined }[];
  verdicts: Verdict[];
}

export function linesOf(rows: readonly Row[], [ours, ...peers]: readonly Result[]): Line[] {
  if (ours === undefined) return [];
  const all = [ours, ...peers];
  return rows
    .filter(({ id }) => all.some((result) => middleOf(result, id) !== undefined))
    .map((row) => ({
      row,
      ours: middleOf(ours, row.id),
      peers: peers.map((peer) => ({
        name: peer.name,
        value: middleOf(peer, row.id),
        ratio: ratioOf([ours, row.id], [peer, row.id]),
      })),
      verdicts: row.budgets.flatMap((budget) => judge(budget, { id: row.id, ours, peer: peers[0] })),
    }));
}

function middleOf({ rounds }: Result, id: string): number | undefined {
  const all = rounds.flatMap((numbers) => numbers[id] ?? []);
  return all.length === 0 ? undefined : median(all);
}

type Named = readonly [result: Result, id: string];

function ratioOf([above, id]: Named, [below, other]: Named): Ratio | undefined {
  const all = above.rounds.flatMap((numbers, round) => divide(numbers[id], below.rounds[round]?.[other]) ?? []);
  return all.length === 0 ? undefined : { median: median(all), low: Math.min(...all), high: Math.max(...all) };
}

interface Case {
  id: string;
  ours: Result;
  peer: Result | undefined;
}

function judge({ against, atMost, atLeast }: Budget, { id, ours, peer }: Case): Verdict[] {
  const [ratio, name] = compared(against, { id, ours, peer });
  if (ratio === undefined) return [];
  const holds = atLeast === undefined ? ratio <= (atMost ?? 0) : ratio >= atLeast;
  const bound = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
  return [{ budget: `${bound}${name}`, ratio, holds }];
}

function compared(against: Budget["against"], { id, ours, peer }: Case): [ratio: number | undefined, name: string] {
  if (against === "absolute") return [middleOf(ours, id), ""];
  if (against === "peer") return [peer && ratioOf([ours, id], [peer, id])?.median, " × peer"];
  return [ratioOf([ours, id], [ours, against.own])?.median, ` × ${against.called}`];
}

function divide(value: number | undefined, base: number | undefined): number | undefined {
  return value === undefined || base === undefined || base === 0 ? undefined : value / base;
}

export function markdown(lines: Line[], results: Result[]): string {
  const names = results.map(({ name }) => name);
  const ratios = names.slice(1).map((name) => `${names[0]} / ${name}`);
  const head = ["", ...names, ...ratios, "budget", ""];
  const table = [head, head.map((_, at) => (at === 0 ? "---" : "---:")), ...lines.map(cells)];
  const notes = results.flatMap(({ name, failures }) =>
    Object.entries(failures).map(([measure, reason]) => `- ${name} has no numbers for \`${measure}\`: ${reason}`),
  );
  return [
    ...table.map((row) => `| ${row.join(" | ")} |`),
    "",
    "Times are medians. A ratio is the median of the rounds of this run, with the lowest and the highest.",
    ...notes,
  ].join("\n");
}

function cells({ row, ours, peers, verdicts }: Line): string[] {
  const show = (value: number | undefined) => (value === undefined ? "–" : `${round(value)} ${row.unit}`.trim());
  return [
    row.title,
    show(ours),
    ...peers.map(({ value }) => show(value)),
    ...peers.map(({ ratio }) => (ratio === undefined ? "–" : showRatio(ratio))),
    verdicts.map(({ budget, ratio }) => `${budget} (${round(ratio)})`).join(", "),
    verdicts.length === 0 ? "" : verdicts.every(({ holds }) => holds) ? "✓" : "✗",
  ];
}

function showRatio({ median, low, high }: Ratio): string {
  return low === high ? round(median) : `${round(median)} (${round(low)}–${round(high)})`;
}

function round(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}
