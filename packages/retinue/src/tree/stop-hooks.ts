/** Asks the stop hooks of an agent whether it may stop. */
import type { HookInput } from "@retinue/protocol";
import type { Agent } from "../loop/agent.ts";
import { callerOf } from "../loop/calls.ts";

/** The reason when one of them makes the agent go on. */
export async function askStopHooks(
  agent: Agent,
  response: string,
  { isAgain, signal }: { isAgain: boolean; signal: AbortSignal },
): Promise<string | undefined> {
  const { hooks, name: agentName = "" } = agent;
  if (hooks.isEmpty) return undefined;
  const options = { caller: callerOf(agent), signal };
  const details = { stopReason: "end_turn", stop_hook_active: isAgain, response } as const;
  const who: Pick<HookInput<"subagentStop">, "agentType"> = { agentType: agentName };
  const output = agent.session.parent
    ? await hooks.run("subagentStop", { ...who, ...details }, options)
    : await hooks.run("agentStop", details, options);
  return output?.decision === "block" && output.reason ? output.reason : undefined;
}
