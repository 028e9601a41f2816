/** Resuming a session: what its log left open goes on or is given an end, as recovery/plan.ts decides. */
import { messageOf } from "@retinue/protocol";
import type { Ask } from "../asks/kinds.ts";
import { settleInterrupted } from "../loop/calls.ts";
import type { LeftOpen } from "../recovery/left-open.ts";
import { endHooks, type OpenHook } from "../recovery/open-hooks.ts";
import { type Resume, recoveryPlan } from "../recovery/plan.ts";
import { isOutage } from "../session/outage.ts";
import type { HostedSession } from "./hosted-session.ts";
import { settleLeftOpen } from "./settle-left-open.ts";

/** What an earlier process left unanswered. */
export interface LeftBehind {
  asks: readonly Ask[];
  /** Answers that were accepted and are not in the log yet, by ask. */
  answers: ReadonlyMap<string, { value: unknown }>;
  /** Open in the log, with no task that goes on with it. */
  unowned: readonly LeftOpen[];
  /** Nobody waits for them any more. */
  hooks: readonly OpenHook[];
  /** How long the main agent's run had worked. */
  workedMs: number;
}

const LOST = "The process that ran this agent ended, and the call that waited for it was given up.";

export async function recover(hosted: HostedSession, left: LeftBehind, resume: Resume): Promise<void> {
  const { session, tree, runner } = hosted;
  const { registry } = hosted.tasks;
  const plan = recoveryPlan(
    {
      rootId: session.id,
      calls: session.state.openCalls,
      tasks: registry.records.list(),
      asks: left.asks,
      hasNotices: session.inbox.notices.length > 0,
    },
    resume,
  );
  endHooks(session.log, left.hooks);
  settleLeftOpen(session.log, left.unowned, session.world);
  if (plan.calls === "interrupt") settleInterrupted(session);
  for (const id of plan.lost) await registry.lose(id, LOST);
  for (const ask of plan.expected) tree.asks.expect(ask, left.answers.get(ask.requestId));
  for (const { requestId } of plan.dropped) tree.asks.settled(requestId);
  runner.resumeAt(left.workedMs);
  // The main agent first: a sub-agent that ends at once must not make the session look idle.
  const isStopping = left.hooks.some((hook) => hook.start.hookType === "agentStop" && hook.sessionId === session.id);
  if (plan.main === "continue") runner.continuePending({ isStopping });
  else if (plan.main === "wake") runner.wake();
  for (const id of plan.continued)
    await registry.continue(id).catch((error: unknown) => {
      if (isOutage(error)) throw error; // Whether it can go on is not known yet.
      return registry.lose(id, messageOf(error));
    });
  if (runner.owesIdle) return;
  // Nothing of that run was left: the next one has all its time, and what its prompt said about itself is over.
  runner.resumeAt(0);
  session.state.prompt.onIdle();
}

export function recordResume(
  { session, tree, runner }: HostedSession,
  { isJoining, continuePendingWork }: Resume & { isJoining: boolean },
): void {
  session.append("session.resume", {
    resumeTime: new Date(session.world.now()).toISOString(),
    selectedModel: session.state.model,
    contextTier: null,
    sessionLimits: null,
    context: tree.configuration.context,
    remoteSteerable: false,
    continuePendingWork,
    eventCount: session.log.count,
    alreadyInUse: isJoining,
    sessionWasActive: isJoining && runner.isRunning,
  });
}
