import { afterAll, describe, expect, test } from "vitest";
import { ATTACHED, type Cell, cellName, DEPTHS, FAULTS, PATHS } from "./cell.ts";
import { Matrix } from "./matrix.ts";
import { runCell } from "./run-cell.ts";

const matrix = new Matrix();
afterAll(() => console.log(`${matrix}\n\n${matrix.problems()}`));

const IN_PROCESS = FAULTS.filter((fault) => fault !== "kill -9");
const cells: Cell[] = PATHS.flatMap((path) => ATTACHED.flatMap((attached) => IN_PROCESS.flatMap((fault) => DEPTHS.map((depth) => ({ path, depth, attached, fault })))));

describe("the four laws hold", () => {
  test.each(cells.map((cell) => ({ name: cellName(cell), cell })))("in $name", async ({ cell }) => {
    const broken = await runCell(cell).catch((error: unknown) => [String(error)]);
    matrix.record(cell, broken);
    expect(broken).toEqual([]);
  });
});
