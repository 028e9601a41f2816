/** The matrix of the laws as Markdown: one table for each client, with one row per path and depth and one column per fault. */
import { ATTACHED, CELLS, type Cell, cellName, DEPTHS, FAULTS, PATHS } from "./cell.ts";
import { legend } from "./checks.ts";

export class Matrix {
  readonly #broken = new Map<string, readonly string[]>();

  record(cell: Cell, broken: readonly string[]): void {
    this.#broken.set(cellName(cell), broken);
  }

  toString(): string {
    return ATTACHED.map((attached) => `### ${attached}\n\n${this.#table(attached)}`).join("\n\n");
  }

  /** Faults and depths that no cell of this client has are left out. */
  #table(attached: Cell["attached"]): string {
    const cells = CELLS.filter((cell) => cell.attached === attached);
    const faults = FAULTS.filter((fault) => cells.some((cell) => cell.fault === fault));
    const depths = DEPTHS.filter((depth) => cells.some((cell) => cell.depth === depth));
    const head = ["path", "depth", ...faults];
    const rows = PATHS.flatMap((path) =>
      depths.map((depth) => [
        path,
        String(depth),
        ...faults.map((fault) => this.#mark({ path, depth, attached, fault })),
      ]),
    );
    return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
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

/** The page with the checks and this matrix between its marks. */
export function withMatrix(page: string, matrix: Matrix): string {
  const explained = page.replace(/(<!-- checks -->\n)[\s\S]*(<!-- \/checks -->)/, `$1${legend()}\n$2`);
  return explained.replace(/(<!-- laws -->\n)[\s\S]*(<!-- \/laws -->)/, `$1${matrix.summary()}\n\n${matrix}\n$2`);
}
