/** Where a value does not fit its schema, and why: for the words that a person or a model reads. */
import type * as z from "zod";

export interface WrongPlace {
  path: readonly PropertyKey[];
  message: string;
}

/** What zod says of a choice that has no words of its own: nothing fitted. */
const NO_CHOICE = "Invalid input";

/** Of a choice of which nothing fits, what was meant is that of which most fits: the wrong place is the deepest one. */
export function wrongPlace({ path, ...issue }: z.core.$ZodIssue): WrongPlace {
  const inner = issue.code === "invalid_union" && issue.message === NO_CHOICE ? issue.errors : [];
  const found = inner.flatMap(([first]) => (first === undefined ? [] : [wrongPlace(first)]));
  const none: WrongPlace = { path: [], message: issue.message };
  const deepest = found.reduce((best, each) => (each.path.length > best.path.length ? each : best), none);
  return { path: [...path, ...deepest.path], message: deepest.message };
}
