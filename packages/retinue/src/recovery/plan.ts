/**
 * What happens to each open call, ask and task when a session is resumed: a pure function of its log and its records.
 *
 * The only place that decides it. The loop calls it for each call that it continues, and the host carries out the rest. A test compares
 * the table in docs/architecture.md with `callStep`.
 */
import type { OpenCall } from "../session/open-call.ts";

/** Whether a resume may continue work that was under way, or gives it an end. */
export interface Resume {
  continuePendingWork: boolean;
}

/** What a call can have done before the process ended. */
export type Nature =
  /** Nothing: the tool changes nothing, or finds what it started. */
  | "repeatable"
  /** Only what the host did, and the request to the host is recorded. */
  | "host"
  /** Nothing: it asks for a permission first, and the log has no such ask. */
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

/** The part of a task that matters here. */
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
  /** `continue` runs the open calls on. `interrupt` gives them an end. */
  calls: "continue" | "interrupt";
  /** `wake` means that notices in its inbox wake the main agent. */
  main: "continue" | "wake" | "rest";
  /** Tasks of the main agent that go on from their own log, with everything below them. */
  continued: readonly string[];
  /** Tasks that nobody will continue, without those below them: their end is recorded. */
  lost: readonly string[];
  /** Asks that their agent will open again. */
  expected: readonly Ask[];
  /** Asks that no agent will open again: their answers are dropped. */
  dropped: readonly Ask[];
}

export function recoveryPlan<Ask extends LeftAsk>(
  { rootId, calls, tasks, asks, hasNotices }: LeftBehind<Ask>,
  { continuePendingWork }: Resume,
): RecoveryPlan<Ask> {
  const running = tasks.filter(({ status }) => status === "running");
  const own = running.filter(({ ownerId }) => ownerId === rootId);
  const isGivenUp = ({ mode, callId }: LeftTask) => mode === "sync" && !(continuePendingWork && calls.has(callId));
  // Nobody has said that the host still works on what it was asked: an agent that waits for it would wait for ever.
  const waits = ({ id }: LeftTask) => !continuePendingWork && asks.some(({ sessionId }) => sessionId === id);
  const lost = withAllBelow(
    running.filter((task) => waits(task) || (task.ownerId === rootId && isGivenUp(task))),
    tasks,
  );
  const goesOn = (ask: Ask) =>
    ask.sessionId === rootId ? continuePendingWork : running.some(({ id }) => id === ask.sessionId && !lost.has(id));
  return {
    calls: continuePendingWork ? "continue" : "interrupt",
    main: continuePendingWork ? "continue" : hasNotices ? "wake" : "rest",
    continued: own.filter(({ id }) => !lost.has(id)).map(({ id }) => id),
    lost: running.filter(({ id, ownerId }) => lost.has(id) && !lost.has(ownerId)).map(({ id }) => id),
    expected: asks.filter(goesOn),
    dropped: asks.filter((ask) => !goesOn(ask)),
  };
}

function withAllBelow(top: readonly LeftTask[], tasks: readonly LeftTask[]): ReadonlySet<string> {
  const found = new Set(top.map(({ id }) => id));
  for (const id of found) for (const task of tasks) if (task.ownerId === id) found.add(task.id);
  return found;
}
