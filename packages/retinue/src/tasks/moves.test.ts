import { expect, test } from "vitest";
import { checkMove, ENDS, Ending, isEnded, TASK_STATES } from "./moves.ts";

const LEGAL = [
  "running>idle",
  "running>orphaned",
  "running>completed",
  "running>failed",
  "running>cancelled",
  "idle>running",
  "idle>orphaned",
  "idle>completed",
  "idle>failed",
  "idle>cancelled",
  "orphaned>running",
  "orphaned>idle",
  "orphaned>completed",
  "orphaned>failed",
  "orphaned>cancelled",
];

test("only the listed moves are legal", () => {
  const moves = TASK_STATES.flatMap((from) => TASK_STATES.map((to) => ({ from, to })));
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

test("the error of an illegal move names the move", () => {
  expect(() => checkMove("t1", "failed", "running")).toThrow("Task t1 cannot go from failed to running");
});

test("an ended task can make no move", () => {
  expect(TASK_STATES.filter(isEnded)).toEqual(["completed", "failed", "cancelled"]);
});

test("every way to end leads to an end state that idle and running may reach", () => {
  for (const { status } of Object.values(ENDS)) {
    expect(isEnded(status)).toBe(true);
    for (const from of ["running", "idle"] as const) expect(() => checkMove("t", from, status)).not.toThrow();
  }
});

test("of two simultaneous ways to end the first wins", () => {
  const ending = new Ending();
  ending.claim({ way: "timed_out", error: "too long" });
  ending.claim({ way: "cancelled" });
  expect(ending.end).toEqual({ way: "timed_out", error: "too long" });
});
