/**
 * A call that the host answers: offered to every client and answered once, wherever in the tree it was made.
 *
 * Owns what each kind of answer means. How an ask proceeds is in asks/ask.ts.
 */
import { ask } from "../asks/ask.ts";
import type { Answer } from "../asks/kinds.ts";
import { wasNotAnswered, wasNotRun } from "../session/wording.ts";
import { type CallContext, failure, type Outcome, success } from "../tools/tool.ts";
import type { Agent } from "./agent.ts";

export async function callHost(
  agent: Agent,
  { name, args }: { name: string; args: unknown },
  { callId, signal }: Pick<CallContext, "callId" | "signal">,
): Promise<Outcome> {
  const earlier = agent.session.state.openCalls.get(callId)?.external; // An ask from before a restart keeps its id.
  const payload = { toolCallId: callId, toolName: name, arguments: args };
  return outcomeOf(name, args, await ask(agent, "tool", { payload, callId, earlier, signal }));
}

function outcomeOf(name: string, args: unknown, answer: Answer<"tool">): Outcome {
  if ("unanswered" in answer) {
    return answer.unanswered === "unknown"
      ? failure(wasNotAnswered(name), { error: "outcome unknown" })
      : failure(wasNotRun(name), { error: "nobody has the tool" });
  }
  if ("error" in answer) {
    const text = `The tool '${name}' failed in the host program. Arguments: ${JSON.stringify(args)}`;
    return failure(text, { error: "Tool execution failed" });
  }
  const { result } = answer;
  if (result === undefined || typeof result === "string") return success(result ?? "");
  return {
    resultType: result.resultType,
    text: result.textResultForLlm,
    ...(result.sessionLog === undefined ? {} : { detail: result.sessionLog }),
    ...(result.error === undefined ? {} : { error: result.error }),
    ...(result.binaryResultsForLlm ? { binary: result.binaryResultsForLlm } : {}),
    ...(result.contents ? { contents: result.contents } : {}),
    ...(result.toolTelemetry ? { telemetry: result.toolTelemetry } : {}),
  };
}
