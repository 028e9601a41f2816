/** What happens when a session has used up the time that its budget gives to one run. */
import type { Runner } from "../loop/runner.ts";
import { Stop } from "../session/stop.ts";
import { cancelRunning } from "../tasks/cancel-running.ts";
import type { Tasks } from "../tasks/registry.ts";
import type { WorkingAgent } from "../tree/working-agent.ts";

/** Stops the main agent and every sub-agent, and says why. */
export function stopLate({ session, slot }: WorkingAgent, { runner, tasks }: { runner: Runner; tasks: Tasks }): void {
  const seconds = (slot.clock.limitMs ?? 0) / 1000;
  session.append("session.error", {
    errorType: "timed_out",
    message: `The session was stopped after ${seconds} s, which is all that its budget allows for one run.`,
  });
  const stopping = runner.stop(new Stop("cancel", "timed_out"));
  void cancelRunning(tasks, "timed_out")
    .then(() => stopping)
    .finally(() => {
      session.inbox.removeNotices(() => true);
      runner.backgroundChanged();
    });
}
