/**
 * What an ask does while no attached client can answer it: one setting for every kind of ask.
 *
 * Owns how the setting is written. Which clients can answer, and since when none can, is known to tree/offer.ts.
 */

export type Unattended =
  /** Stays open until a client comes that can answer; with a limit it ends after that many seconds, and says so. */
  | { type: "wait"; seconds?: number }
  /** Ends at once, and says so. */
  | { type: "deny" }
  /** As `deny`, but what the permission rules allow by now is approved. */
  | { type: "rules" };

export const WAIT: Unattended = { type: "wait" };

export const UNATTENDED_WORDS = "wait, wait:<seconds>, deny or rules";

/** Undefined when it is none of the words. */
export function parseUnattended(text: string): Unattended | undefined {
  if (text === "wait" || text === "deny" || text === "rules") return { type: text };
  const seconds = /^wait:([1-9]\d{0,6})$/.exec(text)?.[1];
  return seconds === undefined ? undefined : { type: "wait", seconds: Number(seconds) };
}
