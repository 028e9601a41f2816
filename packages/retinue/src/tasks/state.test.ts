import { expect, test } from "vitest";
import { checkMove, isEnded, type TaskStatus } from "./state.ts";

const ALL: readonly TaskStatus[] = ["running", "idle", "completed", "failed", "cancelled"];
const LEGAL = [
  "running>idle",
  "running>completed",
  "running>failed",
  "running>cancelled",
  "idle>running",
  "idle>completed",
  "idle>cancelled",
];

test("only the listed moves are legal", () => {
  const moves = ALL.flatMap((from) => ALL.map((to) => ({ from, to })));
  const legal = moves.filter(({ from, to }) => {
    try {
      checkMove("t", from, to);
      return true;
    } catch {
      return false;
    }
  });
  expect(legal.map(({ from, to }) => `${from}>${to}`)).toEqual(LEGAL);
});

test("an illegal move says which it was", () => {
  expect(() => checkMove("t1", "failed", "running")).toThrow("Task t1 cannot go from failed to running");
});

test("an ended task can go nowhere", () => {
  expect(ALL.filter(isEnded)).toEqual(["completed", "failed", "cancelled"]);
});
