/**
 * A call that the host program answers: told to every client, answered once, wherever in the tree it was made.
 *
 * Owns `external_tool.requested` and `external_tool.completed`, and what each kind of answer means.
 */
import type { ToolResult } from "@retinue/protocol";
import { type CallContext, failure, type Outcome, success } from "../tools/tool.ts";
import type { Agent } from "./agent.ts";
import { stopOf } from "./stop.ts";

export type HostAnswer = { result: ToolResult | undefined } | { error: string };

export async function callHost(
  agent: Agent,
  name: string,
  args: unknown,
  { callId, signal }: CallContext,
): Promise<Outcome> {
  const { session } = agent;
  const earlier = session.state.openCalls.get(callId)?.external; // Asked before a restart: the old id counts.
  const requestId = earlier?.requestId ?? session.world.newId();
  const payload = { toolCallId: callId, toolName: name, arguments: args };
  if (!earlier) {
    session.appendAsk("external_tool.requested", {
      requestId,
      sessionId: session.root.id,
      ...payload,
      workingDirectory: session.place.workingDirectory,
      ...(session.parent
        ? { providerId: null, ownerNativeSessionId: session.id, agentId: session.id, agentPath: [...agent.path] }
        : {}),
    });
    await session.log.committed();
  }
  try {
    const ask = { requestId, kind: "tool" as const, sessionId: session.id, callId, payload };
    const answer = await agent.slot.waiting(() => agent.asks.open(ask, { signal }), signal);
    if (!earlier?.isCompleted) session.appendAsk("external_tool.completed", { requestId });
    return outcomeOf(name, args, answer as HostAnswer);
  } catch (error) {
    // Set aside for a resumed session: then the request stays open in the log, and only the clients are told.
    const isParked = stopOf(signal)?.isParked === true;
    session.append("external_tool.completed", { requestId }, { untagged: true, ephemeral: isParked });
    throw error;
  }
}

function outcomeOf(name: string, args: unknown, answer: HostAnswer): Outcome {
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
