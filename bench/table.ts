/** Turns the numbers of a run into verdicts and a Markdown table. */
import type { Numbers } from "./measures.ts";
import type { Budget, Row } from "./rows.ts";

export interface Result {
  name: string;
  numbers: Numbers;
  /** Measures that could not be taken, with the reason. */
  failures: Record<string, string>;
}

export interface Verdict {
  budget: string;
  ratio: number;
  holds: boolean;
}

export interface Line {
  row: Row;
  ours: number | undefined;
  peers: { name: string; value: number | undefined; ratio: number | undefined }[];
  verdicts: Verdict[];
}

export function linesOf(rows: Row[], { ours, peers }: { ours: Result; peers: Result[] }): Line[] {
  return rows
    .filter(({ id }) => [ours, ...peers].some(({ numbers }) => id in numbers))
    .map((row) => {
      const value = ours.numbers[row.id];
      const others = peers.map(({ name, numbers }) => ({ name, value: numbers[row.id] }));
      return {
        row,
        ours: value,
        peers: others.map((peer) => ({ ...peer, ratio: divide(value, peer.value) })),
        verdicts: row.budgets.flatMap((budget) => judge(budget, { value, ours, peer: others[0]?.value })),
      };
    });
}

interface Case {
  value: number | undefined;
  ours: Result;
  peer: number | undefined;
}

function judge(budget: Budget, { value, ours, peer }: Case): Verdict[] {
  const { against, atMost, atLeast } = budget;
  const [base, name] =
    against === "absolute"
      ? [1, ""]
      : against === "peer"
        ? [peer, " × peer"]
        : [ours.numbers[against.own], ` × ${against.called}`];
  const ratio = divide(value, base);
  if (ratio === undefined) return [];
  const holds = atLeast === undefined ? ratio <= (atMost ?? 0) : ratio >= atLeast;
  const bound = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
  return [{ budget: `${bound}${name}`, ratio, holds }];
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
    "Times are medians; ratios are of this run only.",
    ...notes,
  ].join("\n");
}

function cells({ row, ours, peers, verdicts }: Line): string[] {
  const show = (value: number | undefined) => (value === undefined ? "–" : `${round(value)} ${row.unit}`.trim());
  return [
    row.title,
    show(ours),
    ...peers.map(({ value }) => show(value)),
    ...peers.map(({ ratio }) => (ratio === undefined ? "–" : round(ratio))),
    verdicts.map(({ budget, ratio }) => `${budget} (${round(ratio)})`).join(", "),
    verdicts.length === 0 ? "" : verdicts.every(({ holds }) => holds) ? "✓" : "✗",
  ];
}

function round(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}
