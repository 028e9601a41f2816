/** The ways to stop the work of a session that stays open. */
import { Stop } from "../session/stop.ts";
import { cancelRunning } from "../tasks/cancel-running.ts";
import type { HostedSession } from "./hosted-session.ts";

export type AbortReason = "user_initiated" | "remote_command" | "user_abort" | "autopilot_credit_limit";

/** Stops everything in the session, sub-agents included, and forgets waiting prompts. */
export async function abort(
  { session, runner, tasks }: HostedSession,
  reason: AbortReason = "user_initiated",
): Promise<void> {
  const isBusy = runner.isRunning || runner.owesIdle;
  if (!isBusy) return;
  session.inbox.clear();
  session.append("abort", { reason });
  const stopping = runner.stop(new Stop("abort", reason));
  await cancelRunning(tasks.registry, reason);
  await stopping;
  session.inbox.removeNotices(() => true);
  runner.backgroundChanged();
}

/** Stops the main turn; background agents go on. */
export async function interrupt(
  { session, runner }: HostedSession,
  { flushQueued = false }: { flushQueued?: boolean } = {},
): Promise<boolean> {
  if (!runner.isRunning) return false;
  if (!flushQueued) session.inbox.clear();
  return await runner.stop(new Stop("interrupt", "user_abort"));
}

/** Parks the work: open calls and asks stay open in the log, for a resume. */
export async function suspend({ runner, tasks }: HostedSession): Promise<void> {
  await runner.stop(new Stop("suspend", "Session suspended"));
  await tasks.registry.park();
}
