/**
 * Every way to spawn × depth × who is attached × what goes wrong: the four laws hold in each cell. Prints the matrix;
 * LAWS_WRITE=1 writes it to matrix.md.
 */
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ATTACHED, type Cell, cellName, DEPTHS, FAULTS, PATHS } from "./cell.ts";
import { runKilled } from "./killed-cells.ts";
import { Matrix } from "./matrix.ts";
import { runCell } from "./run-cell.ts";

const matrix = new Matrix();
afterAll(() => {
  console.log(`${matrix}\n\n${matrix.problems()}`);
  if (process.env.LAWS_WRITE) writeFileSync(new URL("matrix.md", import.meta.url), `${matrix}\n`);
});

const cells: Cell[] = PATHS.flatMap((path) =>
  ATTACHED.flatMap((attached) => FAULTS.flatMap((fault) => DEPTHS.map((depth) => ({ path, depth, attached, fault })))),
);
const named = (all: readonly Cell[]) => all.map((cell) => ({ name: cellName(cell), cell }));
const killed = cells.filter(({ fault }) => fault === "kill -9");

describe("the four laws hold", () => {
  test.each(named(cells.filter(({ fault }) => fault !== "kill -9")))("in $name", async ({ cell }) => {
    const broken = await runCell(cell).catch((error: unknown) => [String(error)]);
    matrix.record(cell, broken);
    expect(broken).toEqual([]);
  });
});

describe("the four laws hold after the process was killed", () => {
  let outcomes = new Map<string, string[]>();
  beforeAll(async () => {
    outcomes = await runKilled(killed);
  }, 120_000);

  test.each(named(killed))("in $name", ({ name, cell }) => {
    const broken = outcomes.get(name) ?? ["it did not run"];
    matrix.record(cell, broken);
    expect(broken).toEqual([]);
  });
});
