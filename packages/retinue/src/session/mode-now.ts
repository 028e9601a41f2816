/**
 * The mode that holds for an agent now, wherever in the tree it is.
 *
 * It is that of the main agent; but what a message that plans has started goes on planning, whatever is said to the main agent meanwhile.
 */
import type { Session } from "./session.ts";
import type { Mode } from "./state.ts";

export function modeNow({ root, state: { planOf } }: Session): Mode {
  const { prompt, modeNow: ofMain } = root.state;
  return planOf !== undefined && prompt.plans.has(planOf) ? "plan" : ofMain;
}

/** The message that plans and that whatever this agent starts now follows from. */
export function planNow({ parent, state }: Session): string | undefined {
  const { mode, plans } = state.prompt;
  if (parent) return state.planOf;
  return mode === "plan" ? [...plans].at(-1) : undefined;
}
