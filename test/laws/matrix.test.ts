/**
 * Every way to spawn × depth × who is attached × what goes wrong: the four laws hold in each cell. Prints the matrix;
 * LAWS_WRITE=1 writes it into docs/laws.md.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CELLS, type Cell, cellName, isKilled } from "./cell.ts";
import { runKilled } from "./killed-cells.ts";
import { Matrix, withMatrix } from "./matrix.ts";
import { runCell } from "./run-cell.ts";

const matrix = new Matrix();
afterAll(() => {
  console.log(`${matrix}\n\n${matrix.problems()}`);
  const page = new URL("../../docs/laws.md", import.meta.url);
  if (process.env.LAWS_WRITE) writeFileSync(page, withMatrix(readFileSync(page, "utf8"), matrix));
});

const named = (all: readonly Cell[]) => all.map((cell) => ({ name: cellName(cell), cell }));
const killed = CELLS.filter(isKilled);

describe("the four laws hold", () => {
  test.each(named(CELLS.filter((cell) => !isKilled(cell))))("in $name", async ({ cell }) => {
    const broken = await runCell(cell).catch((error: unknown) => [String(error)]);
    matrix.record(cell, broken);
    expect(broken).toEqual([]);
  });
});

describe("the four laws hold after the process was killed", () => {
  let outcomes = new Map<string, string[]>();
  beforeAll(async () => {
    outcomes = await runKilled(killed);
  });

  test.each(named(killed))("in $name", ({ name, cell }) => {
    const broken = outcomes.get(name) ?? ["it did not run"];
    matrix.record(cell, broken);
    expect(broken).toEqual([]);
  });
});
