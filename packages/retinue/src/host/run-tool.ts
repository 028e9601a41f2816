/** A tool that a person or a program runs without the model, through the same hooks and permissions as every other call. */
import { AppError, type EventData, type ToolResult } from "@retinue/protocol";
import { runCalls } from "../loop/calls.ts";
import type { LoggedEvent } from "../session/log.ts";
import type { OpenCall } from "../session/open-call.ts";
import type { HostedSession } from "./hosted-session.ts";

export interface ToolRun {
  name: string;
  args: unknown;
  callId: string;
  signal: AbortSignal;
}

export async function runTool(
  { session, main }: HostedSession,
  { name, args, callId, signal }: ToolRun,
): Promise<ToolResult> {
  const toolset = await main.kit.tools();
  if (!toolset.byName.has(name)) throw new AppError("invalid_params", `Tool not found: ${name}`);
  const call: OpenCall = {
    id: callId,
    name,
    arguments: args,
    turnId: "0",
    interactionId: session.world.newId(),
    isStarted: false,
  };
  let ended: EventData<"tool.execution_complete"> | undefined;
  const stop = session.log.listen((events) => {
    ended ??= events.find((event) => isEndOf(event, callId))?.data as typeof ended;
  });
  try {
    session.append("tool.user_requested", { toolCallId: callId, toolName: name, arguments: args });
    await runCalls(main, { calls: [call], toolset, badArguments: new Map(), signal, isByPerson: true });
    await session.log.committed();
  } finally {
    stop();
  }
  if (!ended) throw new AppError("cancelled", `The call of ${name} was stopped`);
  return resultOf(ended);
}

function isEndOf({ type, data }: LoggedEvent, callId: string): boolean {
  return type === "tool.execution_complete" && "toolCallId" in data && data.toolCallId === callId;
}

const FAILURES = ["failure", "denied", "rejected", "timeout"] as const;

function resultOf({ success, result, error, modelText }: EventData<"tool.execution_complete">): ToolResult {
  if (success) {
    const { content = "", detailedContent } = result ?? {};
    return {
      textResultForLlm: content,
      resultType: "success",
      ...(detailedContent ? { sessionLog: detailedContent } : {}),
    };
  }
  const message = error?.message ?? "";
  const resultType = FAILURES.find((type) => type === error?.code) ?? "failure";
  return { textResultForLlm: modelText ?? message, resultType, error: message };
}
