/** The order in which the calls of a turn run, and which of them do not run at all. */
import type { OpenCall } from "../session/open-call.ts";
import type { Agent, Toolset } from "./agent.ts";

/** Why a call does not run, for the model, and how its end is recorded. */
export interface Refusal {
  text: string;
  code: string;
}

export interface CallOrder {
  first: readonly OpenCall[];
  /** What ends the turn judges the work of the others. */
  last: readonly OpenCall[];
  refusals: ReadonlyMap<string, Refusal>;
}

/** Reserved in their order, before any of them runs, so that calls of one turn cannot pass a limit together. */
export function orderOf(
  agent: Agent,
  calls: readonly OpenCall[],
  { toolset, isByPerson = false }: { toolset: Toolset; isByPerson?: boolean },
): CallOrder {
  const refusals = new Map<string, Refusal>();
  const last = new Set<OpenCall>();
  const claims = new Set<string>();
  for (const call of calls) {
    const tool = toolset.byName.get(call.name);
    const over = isByPerson ? undefined : agent.budget.reserveCall();
    if (over !== undefined) refusals.set(call.id, { text: over, code: "over_budget" });
    else if (claims.has(call.name)) refusals.set(call.id, { text: twice(call.name), code: "failure" });
    else if (tool?.isTerminal) last.add(call);
    if (tool?.isTerminal && tool.endEvents) claims.add(call.name); // Such as task_complete. Tools of the host run as often as they are called.
  }
  return { first: calls.filter((call) => !last.has(call)), last: [...last], refusals };
}

const twice = (name: string) => `'${name}' ends the turn, and was called before in this turn: only that call counts.`;
