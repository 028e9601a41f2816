/**
 * The calls of one turn: recorded, checked by hooks and permissions, run at the same time, recorded again.
 *
 * Every call of every agent, at every depth and on every path, passes through `runCalls`. A resumed session enters it again with the
 * calls that its log left open.
 */
import { messageOf } from "@retinue/protocol";
import type { Session } from "../session/session.ts";
import type { OpenCall } from "../session/state.ts";
import { wasAborted, wasInterrupted } from "../session/wording.ts";
import { boundOutput } from "../tools/output.ts";
import { type CallContext, CallRefused, failure, type Outcome, type Prepared, type Tool } from "../tools/tool.ts";
import { type Agent, callContext, type Toolset } from "./agent.ts";
import { permit } from "./permit.ts";
import { stopOf } from "./stop.ts";

export interface CallsInput {
  calls: readonly OpenCall[];
  toolset: Toolset;
  badArguments: ReadonlyMap<string, string>;
  signal: AbortSignal;
  /** The calls come from a log that another process left: what had begun may have happened. */
  isResumed?: boolean;
}

/** True when the turn ends here, without asking the model again. */
export async function runCalls(agent: Agent, input: CallsInput): Promise<boolean> {
  for (const call of input.calls) recordStart(agent, call, input.toolset);
  try {
    await agent.session.log.committed(); // Recorded first, so that a crash leaves a started call and never an unknown side effect.
  } catch (error) {
    settleInterrupted(agent.session); // None of them will run.
    throw error;
  }
  const ends = await Promise.all(input.calls.map((call) => runCall(agent, call, input)));
  return ends.some(Boolean);
}

function recordStart({ session }: Agent, call: OpenCall, toolset: Toolset): void {
  if (call.isStarted) return;
  const tool = toolset.byName.get(call.name);
  session.append("tool.execution_start", {
    toolCallId: call.id,
    toolName: call.name,
    arguments: call.arguments,
    turnId: call.turnId,
    ...(session.state.model ? { model: session.state.model } : {}),
    ...(session.parentCallId ? { parentToolCallId: session.parentCallId } : {}),
    ...(tool?.mcp ? { mcpServerName: tool.mcp.server, mcpToolName: tool.mcp.tool } : {}),
  });
}

async function runCall(agent: Agent, call: OpenCall, input: CallsInput): Promise<boolean> {
  const { signal } = input;
  await agent.slot.enter(signal).catch(() => undefined); // Stopped while queueing: settled below as any stopped call.
  try {
    const tool = input.toolset.byName.get(call.name);
    const outcome = signal.aborted ? undefined : await outcomeOf(agent, call, tool, input);
    const stop = stopOf(signal);
    if (stop?.isParked) return true;
    if (!outcome || (stop && outcome.resultType !== "success")) {
      recordEnd(agent, call, { ...failure(wasAborted), error: "interrupted" }, "interrupted");
      return true;
    }
    const bounded = bound(agent, outcome, call.name);
    recordEnd(agent, call, bounded);
    for (const event of bounded.events ?? []) agent.session.append(event.type, event.data);
    for (const text of bounded.followUps ?? []) recordFollowUp(agent, text);
    return outcome.resultType === "rejected" || (tool?.isTerminal === true && outcome.resultType === "success");
  } finally {
    agent.slot.leave();
  }
}

/** Settles what a process left behind when nobody goes on with it: every ask and every call gets its end. */
export function settleInterrupted(session: Session): void {
  for (const call of [...session.state.openCalls.values()]) {
    const { permission, external } = call;
    if (permission && !permission.isDecided) {
      session.appendAsk("permission.completed", {
        requestId: permission.requestId,
        toolCallId: call.id,
        result: { kind: "cancelled", reason: "interrupted" },
      });
    }
    if (external && !external.isCompleted)
      session.appendAsk("external_tool.completed", { requestId: external.requestId });
    session.append("tool.execution_complete", {
      toolCallId: call.id,
      turnId: call.turnId,
      interactionId: call.interactionId,
      success: false,
      error: { message: "interrupted", code: "interrupted" },
      modelText: wasInterrupted,
      toolTelemetry: {},
    });
  }
}

/** What became of a call; undefined when it was stopped. */
async function outcomeOf(
  agent: Agent,
  call: OpenCall,
  tool: Tool | undefined,
  input: CallsInput,
): Promise<Outcome | undefined> {
  const problem = input.badArguments.get(call.id);
  if (problem !== undefined)
    return failure(`The arguments of '${call.name}' are not valid JSON: ${problem}`, { error: problem });
  if (!tool) return unknownTool(call.name, input.toolset);
  try {
    const outcome = await attempt(agent, call, tool, input);
    return await afterwards(agent, call, outcome, input.signal);
  } catch (error) {
    if (input.signal.aborted) return undefined;
    if (error instanceof CallRefused) return await afterwards(agent, call, error.outcome, input.signal);
    const text = `Tool '${call.name}' failed: ${messageOf(error)}`;
    return await afterwards(agent, call, failure(text, { error: messageOf(error) }), input.signal);
  }
}

async function attempt(
  agent: Agent,
  call: OpenCall,
  tool: Tool,
  { signal, isResumed = false }: CallsInput,
): Promise<Outcome> {
  const context = callContext(agent, call.id, signal);
  if (isResumed && call.permission?.isDecided && !call.permission.isApproved) return refusedBefore;
  if (isResumed && call.isStarted && (await mayHaveRun(agent, call, tool, context)))
    return failure(wasInterrupted, { error: "interrupted" });
  const before = await beforehand(agent, call, signal);
  if ("outcome" in before) return before.outcome;
  const prepared: Prepared = await tool.prepare(before.args, context);
  const refused = await permit(agent, { call, args: before.args, prepared, hook: before, signal });
  if (refused) return refused;
  return prepared.run();
}

/** Whether a call that another process began can have had an effect. A host tool records its own request before it acts. */
async function mayHaveRun(agent: Agent, call: OpenCall, tool: Tool, context: CallContext): Promise<boolean> {
  if (tool.readOnly || tool.source === "host") return false;
  if (call.permission) return call.permission.isApproved;
  const { permission } = await tool.prepare(call.arguments, context);
  return !permission || agent.rules.decide({ ...permission, toolCallId: call.id }).type !== "ask";
}

const refusedBefore: Outcome = { resultType: "denied", text: "Permission for this call was not given." };

interface Beforehand {
  args: unknown;
  decision?: "allow" | "ask";
  reason?: string;
}

async function beforehand(
  agent: Agent,
  call: OpenCall,
  signal: AbortSignal,
): Promise<Beforehand | { outcome: Outcome }> {
  if (agent.hooks.isEmpty) return { args: call.arguments };
  const output = await agent.hooks.run(
    "preToolUse",
    { toolName: call.name, toolArgs: call.arguments },
    { caller: callerOf(agent), signal },
  );
  const reason = output?.permissionDecisionReason;
  if (output?.permissionDecision === "deny") {
    const text = reason ?? `The call of '${call.name}' was denied by a hook.`;
    return { outcome: { resultType: "denied", text } };
  }
  return { args: output?.modifiedArgs ?? call.arguments, decision: output?.permissionDecision, reason };
}

async function afterwards(agent: Agent, call: OpenCall, outcome: Outcome, signal: AbortSignal): Promise<Outcome> {
  if (agent.hooks.isEmpty || signal.aborted) return outcome;
  const call_ = { toolName: call.name, toolArgs: call.arguments };
  const options = { caller: callerOf(agent), signal };
  if (outcome.resultType !== "success") {
    await agent.hooks.run("postToolUseFailure", { ...call_, error: outcome.error ?? outcome.text }, options);
    return outcome;
  }
  const toolResult = { textResultForLlm: outcome.text, resultType: outcome.resultType, toolTelemetry: {} };
  const output = await agent.hooks.run("postToolUse", { ...call_, toolResult }, options);
  if (!output) return outcome;
  const changed = output.modifiedResult;
  const text = changed?.textResultForLlm ?? outcome.text;
  return {
    ...outcome,
    ...(changed
      ? {
          resultType: changed.resultType ?? outcome.resultType,
          error: changed.error,
          detail: changed.sessionLog ?? text,
        }
      : {}),
    text: output.additionalContext ? `${text}\n\n${output.additionalContext}` : text,
  };
}

export function callerOf(agent: Agent) {
  return {
    session: agent.session,
    agentName: agent.name,
    agentPath: [...agent.path],
    parentToolCallId: agent.session.parentCallId,
  };
}

function recordEnd(agent: Agent, call: OpenCall, outcome: Outcome, code: string = outcome.resultType): void {
  const { session } = agent;
  const { external } = session.state.openCalls.get(call.id) ?? {};
  if (external) agent.asks.settled(external.requestId); // With the result below, in one commit.
  agent.used({ toolCalls: 1 });
  const common = {
    toolCallId: call.id,
    ...(session.state.model ? { model: session.state.model } : {}),
    interactionId: call.interactionId,
    turnId: call.turnId,
    toolTelemetry: { ...outcome.telemetry },
    ...(outcome.shellExecution ? { shellExecution: outcome.shellExecution } : {}),
    ...(session.parentCallId ? { parentToolCallId: session.parentCallId } : {}),
  };
  if (outcome.resultType === "success") {
    session.append("tool.execution_complete", {
      ...common,
      success: true,
      result: {
        content: outcome.text,
        detailedContent: outcome.detail ?? outcome.text,
        ...(outcome.binary ? { binaryResultsForLlm: [...outcome.binary] } : {}),
        ...(outcome.contents ? { contents: [...outcome.contents] } : {}),
        ...(outcome.structuredContent === undefined ? {} : { structuredContent: outcome.structuredContent }),
      },
    });
    return;
  }
  const message = outcome.error ?? outcome.text;
  session.append("tool.execution_complete", {
    ...common,
    success: false,
    error: { message, code },
    ...(message === outcome.text ? {} : { modelText: outcome.text }),
  });
}

function recordFollowUp({ session }: Agent, text: string): void {
  session.append("user.message", { content: "", transformedContent: text, source: "system" });
}

function bound({ settings }: Agent, outcome: Outcome, name: string): Outcome {
  const { text } = boundOutput(outcome.text, {
    maxBytes: settings.maxOutputBytes,
    tempFolder: settings.outputFolder,
    name,
  });
  return text === outcome.text ? outcome : { ...outcome, text, detail: outcome.detail ?? text };
}

function unknownTool(name: string, { tools }: Toolset): Outcome {
  const error = `Tool '${name}' does not exist.`;
  const names = tools.map((tool) => tool.name).join(", ");
  return failure(`${error} Available tools: ${names || "none"}.`, { error });
}
