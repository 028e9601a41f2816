/** What decides whether an agent may stop, as the loop sees it: stop hooks and gates. tree/gates.ts asks and checks them. */
import type { Session } from "../session/session.ts";
import type { GateVerdict } from "../tools/tool.ts";

export interface AgentGates {
  /** The agent has stopped and its gates were not checked: it waited for others, or an earlier process ended before that. */
  readonly isOwed: boolean;
  /** Called when the agent says that it is done. */
  check(result: string, options: { signal: AbortSignal }): Promise<GateVerdict>;
  /** Called when the agent stops: asks the stop hooks, then checks. In autopilot stopping is no claim, so that only hooks are asked. */
  atStop(result: string, options: StopOptions): Promise<GateVerdict>;
}

export interface StopOptions {
  /** How many times in a row the agent was sent on. */
  vetoes: number;
  /** What it has started still works in the background: it stops to wait for that, and claims nothing. */
  isWaiting: boolean;
  signal: AbortSignal;
}

/** They have failed once too often. */
export class GateFailed extends Error {
  override readonly name = "GateFailed";
}

/** A check that was stopped, or that an earlier process has begun. */
export function endOpenCheck(session: Session): void {
  const { open } = session.state.gates;
  if (open) session.append("gate.completed", { ...open, passed: false, cancelled: true, outcomes: [] });
}
