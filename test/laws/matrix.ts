/** The matrix of the laws as a Markdown table: one row per path and depth, one column per who is attached and what goes wrong. */
import { ATTACHED, CELLS, type Cell, cellName, DEPTHS, FAULTS, PATHS } from "./cell.ts";

/** Rows that come with their features. */
const LATER = ["fleet", "MCP task"];

export class Matrix {
  readonly #broken = new Map<string, readonly string[]>();

  record(cell: Cell, broken: readonly string[]): void {
    this.#broken.set(cellName(cell), broken);
  }

  toString(): string {
    const columns = ATTACHED.flatMap((attached) => FAULTS.map((fault) => ({ attached, fault })));
    const head = ["path", "depth", ...columns.map(({ attached, fault }) => `${attached}: ${fault}`)];
    const rows = PATHS.flatMap((path) =>
      DEPTHS.map((depth) => [path, String(depth), ...columns.map((column) => this.#mark({ path, depth, ...column }))]),
    );
    const later = LATER.map((path) => [path, "0–4", ...columns.map(() => "later")]);
    return [head, head.map(() => "---"), ...rows, ...later].map((row) => `| ${row.join(" | ")} |`).join("\n");
  }

  /** How many cells hold, in one sentence. */
  summary(): string {
    const held = CELLS.filter((cell) => this.#broken.get(cellName(cell))?.length === 0).length;
    return held === CELLS.length ? `All ${held} cells hold.` : `${held} of ${CELLS.length} cells hold.`;
  }

  /** Every law that did not hold, with its cells. */
  problems(): string {
    const cells = new Map<string, string[]>();
    for (const [cell, broken] of this.#broken) {
      for (const law of broken) {
        const words = law.replace(/\b[0-9a-f]{8}\b/g, "…").replace(/call[-_][\w-]+/g, "a call");
        cells.set(words, [...(cells.get(words) ?? []), cell]);
      }
    }
    return [...cells]
      .map(([law, names]) => `${law}\n    in ${names.length}: ${names.slice(0, 8).join(" ")}`)
      .join("\n");
  }

  #mark(cell: Cell): string {
    const broken = this.#broken.get(cellName(cell));
    if (!broken) return "·";
    return broken.length === 0 ? "✓" : "✗";
  }
}

/** The page with this matrix between its marks. */
export function withMatrix(page: string, matrix: Matrix): string {
  return page.replace(/(<!-- laws -->\n)[\s\S]*(<!-- \/laws -->)/, `$1${matrix.summary()}\n\n${matrix}\n$2`);
}
