/**
 * What becomes of each open call, ask and task when a session is opened again: a pure function of what its log and its records say.
 *
 * The one place that decides it. The loop asks here for each call that it comes back to, and the host carries out the rest. The table in
 * docs/architecture.md is made from `callStep`, and a test compares them.
 */
import type { OpenCall } from "../session/state.ts";

/** What a resume may do with work that was under way: go on, or give it an end. */
export interface Resume {
  continuePendingWork: boolean;
}

/** What a tool can have done before the process ended. */
export type Nature =
  /** Nothing: it changes nothing, or finds by itself what it began. */
  | "repeatable"
  /** Only what the host did, and the host was asked on record. */
  | "host"
  /** Nothing yet: it would have asked for a permission first, and the log has no such ask. */
  | "asks_first"
  /** Anything. */
  | "effect";

export type CallStep = "run" | "deny" | "wait" | "interrupt";

/** A call that has no end in the log. */
export function callStep(
  { isStarted, permission, external }: OpenCall,
  { nature, continuePendingWork }: Resume & { nature: Nature },
): CallStep {
  if (!continuePendingWork) return "interrupt";
  if (permission && !permission.isDecided) return "wait";
  if (permission && !permission.isApproved) return "deny";
  if (external) return "wait";
  if (!isStarted || nature !== "effect") return "run";
  return "interrupt";
}

/** As much of a task as matters here. */
export interface LeftTask {
  id: string;
  ownerId: string;
  callId: string;
  mode: "sync" | "background";
  status: string;
}

export interface LeftAsk {
  requestId: string;
  sessionId: string;
}

export interface LeftBehind<Ask extends LeftAsk = LeftAsk> {
  rootId: string;
  /** Open calls of the main agent. */
  calls: ReadonlyMap<string, OpenCall>;
  tasks: readonly LeftTask[];
  asks: readonly Ask[];
  /** Notices wait for the main agent. */
  hasNotices: boolean;
}

export interface RecoveryPlan<Ask extends LeftAsk = LeftAsk> {
  /** `continue`: goes on with its open calls. `interrupt`: gives them an end. */
  calls: "continue" | "interrupt";
  /** `wake`: what waits in its inbox wakes the main agent. */
  main: "continue" | "wake" | "rest";
  /** Tasks of the main agent that go on from their own log. What is below them follows them. */
  continued: readonly string[];
  /** Tasks that nobody waits for any more: their end is recorded. */
  lost: readonly string[];
  /** Asks whose agent comes back to them. */
  expected: readonly Ask[];
  /** Asks that nobody comes back to: their answers are dropped. */
  dropped: readonly Ask[];
}

export function recoveryPlan<Ask extends LeftAsk>(
  { rootId, calls, tasks, asks, hasNotices }: LeftBehind<Ask>,
  { continuePendingWork }: Resume,
): RecoveryPlan<Ask> {
  const own = tasks.filter(({ ownerId, status }) => ownerId === rootId && status === "running");
  const isGivenUp = ({ mode, callId }: LeftTask) => mode === "sync" && !(continuePendingWork && calls.has(callId));
  const lost = withAllBelow(own.filter(isGivenUp), tasks);
  const goesOn = (ask: Ask) =>
    ask.sessionId === rootId
      ? continuePendingWork
      : tasks.some(({ id, status }) => id === ask.sessionId && status === "running" && !lost.has(id));
  return {
    calls: continuePendingWork ? "continue" : "interrupt",
    main: continuePendingWork ? "continue" : hasNotices ? "wake" : "rest",
    continued: own.filter((task) => !isGivenUp(task)).map(({ id }) => id),
    lost: own.filter(isGivenUp).map(({ id }) => id),
    expected: asks.filter(goesOn),
    dropped: asks.filter((ask) => !goesOn(ask)),
  };
}

function withAllBelow(top: readonly LeftTask[], tasks: readonly LeftTask[]): ReadonlySet<string> {
  const found = new Set(top.map(({ id }) => id));
  for (const id of found) for (const task of tasks) if (task.ownerId === id) found.add(task.id);
  return found;
}
