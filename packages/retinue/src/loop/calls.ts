/**
 * The calls of one turn: their starts recorded, checked by hooks and permissions, run in parallel, their ends recorded.
 *
 * Every call of every agent, at any depth and on any path, goes through `runCalls`. A resumed session passes it the calls that its log
 * left open.
 */
import { type HookOutput, messageOf } from "@retinue/protocol";
import { KINDS } from "../asks/kinds.ts";
import { GuardFailed } from "../hooks/hooks.ts";
import { callStep, type Nature } from "../recovery/plan.ts";
import type { OpenCall } from "../session/open-call.ts";
import type { Session } from "../session/session.ts";
import { Stop, stopOf } from "../session/stop.ts";
import { wasAborted, wasInterrupted } from "../session/wording.ts";
import { boundOutput } from "../tools/output.ts";
import { type CallContext, CallRefused, failure, type Outcome, type Prepared, type Tool } from "../tools/tool.ts";
import { type Agent, callContext, type Toolset } from "./agent.ts";
import { type CallOrder, orderOf } from "./call-order.ts";
import { endOpenCheck } from "./gates.ts";
import { awaitedTool, unknownTool } from "./missing-tool.ts";
import { permit } from "./permit.ts";
import { withinTerms } from "./prompt-limit.ts";

export interface CallsInput {
  calls: readonly OpenCall[];
  toolset: Toolset;
  badArguments: ReadonlyMap<string, string>;
  signal: AbortSignal;
  /** The calls come from the log of an earlier process: those that had started may have had effects. */
  isResumed?: boolean;
  /** A person asked for them, not the model: no budget of a run holds. */
  isByPerson?: boolean;
}

/** True when the turn ends here, without asking the model again. */
export async function runCalls(agent: Agent, input: CallsInput): Promise<boolean> {
  const calls = input.calls.map((call) => ({ ...call })); // Copied, because recording their start changes them.
  for (const call of calls) recordStart(agent, call, input.toolset);
  const { first, last, refusals } = orderOf(agent, calls, input);
  const run = (some: readonly OpenCall[]) =>
    Promise.allSettled(some.map((call) => runCall(agent, call, { ...input, refusals })));
  const ends = await run(first);
  ends.push(...(await run(last)));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) {
    settleInterrupted(agent.session); // What has no end yet did not run.
    throw failed.reason;
  }
  return ends.some((end) => end.status === "fulfilled" && end.value);
}

/** Nothing of this session can be written any more. */
class NotRecorded extends Error {}

/**
 * Called before a call has an effect, so that a crash leaves a started and permitted call and never an unrecorded effect. What led here is
 * written in one commit.
 */
async function recordedFirst({ session }: Agent, signal: AbortSignal): Promise<void> {
  try {
    await session.log.recorded({ signal });
  } catch (error) {
    throw signal.aborted ? error : new NotRecorded(messageOf(error), { cause: error });
  }
}

function recordStart({ session }: Agent, call: OpenCall, toolset: Toolset): void {
  if (call.isStarted) return;
  const tool = toolset.byName.get(call.name);
  session.append("tool.execution_start", {
    toolCallId: call.id,
    toolName: call.name,
    arguments: call.arguments,
    turnId: call.turnId,
    model: session.state.model,
    parentToolCallId: session.parentCallId,
    mcpServerName: tool?.mcp?.server,
    mcpToolName: tool?.mcp?.tool,
  });
}

interface BatchInput extends CallsInput {
  refusals: CallOrder["refusals"];
}

async function runCall(agent: Agent, call: OpenCall, input: BatchInput): Promise<boolean> {
  const { signal } = input;
  const refusal = input.refusals.get(call.id);
  const tool = input.toolset.byName.get(call.name);
  if (refusal !== undefined && !signal.aborted) {
    endAsks(agent.session, call.id);
    const outcome = failure(refusal.text);
    recordEnd(agent, call, { outcome, code: refusal.code });
    recordEvents(agent, call, { outcome, tool });
    return false;
  }
  await agent.slot.enter(signal).catch(() => undefined); // Stopped while it waited for a slot: settled below like any stopped call.
  try {
    const outcome = signal.aborted ? undefined : await outcomeOf(agent, call, input);
    const stop = stopOf(signal);
    if (stop?.isParked) return true;
    if (!outcome || (stop && outcome.resultType !== "success")) {
      endAsks(agent.session, call.id, stop);
      recordEnd(agent, call, { outcome: failure(wasAborted, { error: "interrupted" }), code: "interrupted" });
      return true;
    }
    const bounded = bound(agent, outcome, call.name);
    recordEnd(agent, call, { outcome: bounded });
    recordEvents(agent, call, { outcome: bounded, tool });
    // One that claims over and over what is refused is reminded like one that stops; that is counted.
    const isTerminal = tool?.isTerminal && (outcome.resultType === "success" || agent.session.state.autopilot.isStuck);
    return outcome.resultType === "rejected" || outcome.endsTurn === true || isTerminal === true;
  } finally {
    agent.slot.leave();
  }
}

/** Gives an end to every ask and call that an earlier process left open and that will not be continued. */
export function settleInterrupted(session: Session): void {
  endOpenCheck(session);
  for (const call of [...session.state.openCalls.values()]) {
    endAsks(session, call.id);
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

/** Closes the asks of a call that was stopped before it came back to them. */
function endAsks(session: Session, callId: string, stop?: Stop): void {
  const { permission, external } = session.state.openCalls.get(callId) ?? {};
  const why = () => stop ?? new Stop("abort", "interrupted");
  if (permission && !permission.isDecided)
    KINDS.permission.settleStopped({ session, requestId: permission.requestId, callId }, why());
  if (external && !external.isCompleted)
    KINDS.tool.settleStopped({ session, requestId: external.requestId, callId }, why());
}

/** The outcome of a call; undefined when it was stopped. */
async function outcomeOf(agent: Agent, call: OpenCall, input: CallsInput): Promise<Outcome | undefined> {
  const { signal, isResumed = false } = input;
  const problem = input.badArguments.get(call.id);
  if (problem !== undefined)
    return failure(`The arguments of '${call.name}' are not valid JSON: ${problem}`, { error: problem });
  const tool = (isResumed && awaitedTool(agent, call, input.toolset)) || input.toolset.byName.get(call.name);
  if (!tool) return unknownTool(call.name, input.toolset);
  try {
    const outcome = await attempt(agent, { call, tool, signal, isResumed });
    return await afterwards(agent, outcome, { call, tool, signal });
  } catch (error) {
    if (signal.aborted) return undefined;
    if (error instanceof NotRecorded) throw error.cause;
    if (error instanceof CallRefused) return await afterwards(agent, error.outcome, { call, tool, signal });
    const text = `Tool '${call.name}' failed: ${messageOf(error)}`;
    return await afterwards(agent, failure(text, { error: messageOf(error) }), { call, tool, signal });
  }
}

interface Attempt {
  call: OpenCall;
  tool: Tool;
  signal: AbortSignal;
  isResumed: boolean;
}

async function attempt(agent: Agent, { call, tool, signal, isResumed }: Attempt): Promise<Outcome> {
  const context = callContext(agent, call.id, signal);
  if (isResumed) {
    const step = callStep(call, { nature: await natureOf(agent, { call, tool, context }), continuePendingWork: true });
    if (step === "deny") return refusedBefore;
    if (step === "interrupt") return failure(wasInterrupted, { error: "interrupted" });
  }
  const before = await beforehand(agent, { call, tool, signal });
  if ("outcome" in before) return before.outcome;
  const terms = withinTerms(agent.session, call, before.args); // After the hooks, which may have changed them.
  if ("refused" in terms) return terms.refused;
  const { args } = terms;
  const prepared: Prepared = await tool.prepare(args, context);
  const refused = await permit(agent, { call, args, prepared, hook: before, signal });
  if (refused) return refused;
  if (tool.source !== "host") await recordedFirst(agent, signal); // An ask is recorded with what led to it.
  return withRemarks(agent, await prepared.run(), { name: call.name, args });
}

function withRemarks({ kit }: Agent, outcome: Outcome, call: { name: string; args: unknown }): Outcome {
  const texts = outcome.resultType === "success" ? (kit.aboutCall?.(call) ?? []) : [];
  return texts.length === 0 ? outcome : { ...outcome, followUps: [...(outcome.followUps ?? []), ...texts] };
}

/** What a call that an earlier process started can have done. */
async function natureOf(
  agent: Agent,
  { call, tool, context }: { call: OpenCall; tool: Tool; context: CallContext },
): Promise<Nature> {
  if (tool.readOnly || tool.hasStarted?.(context)) return "repeatable";
  if (tool.source === "host") return "host";
  if (call.permission || !call.isStarted) return "effect";
  const { permission, needsNoAsk } = await tool.prepare(call.arguments, context);
  const wouldAsk =
    permission &&
    !needsNoAsk &&
    agent.permissions.rules.decide({ ...permission, toolCallId: call.id }, agent.session.place).type === "ask";
  return wouldAsk ? "asks_first" : "effect";
}

const refusedBefore: Outcome = { resultType: "denied", text: "Permission for this call was not given." };

interface Beforehand {
  args: unknown;
  decision?: "allow" | "ask";
  reason?: string;
}

type HookedCall = Pick<Attempt, "call" | "tool" | "signal">;

/** What hooks are told of a call. */
function described(call: OpenCall, { mcp }: Tool) {
  const { id: toolCallId, name: toolName, arguments: toolArgs } = call;
  return { toolName, toolArgs, toolCallId, mcpServerName: mcp?.server, mcpToolName: mcp?.tool };
}

async function beforehand(
  agent: Agent,
  { call, tool, signal }: HookedCall,
): Promise<Beforehand | { outcome: Outcome }> {
  if (agent.hooks.isEmpty) return { args: call.arguments };
  let output: HookOutput<"preToolUse"> | undefined;
  try {
    output = await agent.hooks.run("preToolUse", described(call, tool), { caller: callerOf(agent), signal });
  } catch (error) {
    if (!(error instanceof GuardFailed)) throw error;
    return { outcome: guardFailed(call.name, error) };
  }
  signal.throwIfAborted(); // A hook that did not get to answer has not let the call pass.
  const reason = output?.permissionDecisionReason;
  if (output?.permissionDecision === "deny") {
    const text = reason ?? `The call of '${call.name}' was denied by a hook.`;
    return { outcome: { resultType: "denied", text } };
  }
  return { args: output?.modifiedArgs ?? call.arguments, decision: output?.permissionDecision, reason };
}

function guardFailed(name: string, { message }: GuardFailed): Outcome {
  const text = `The call of '${name}' was denied, because ${message}. Go on without it, or tell the user that the hook must be put right.`;
  return { resultType: "denied", text };
}

async function afterwards(agent: Agent, outcome: Outcome, { call, tool, signal }: HookedCall): Promise<Outcome> {
  if (agent.hooks.isEmpty || signal.aborted) return outcome;
  const call_ = described(call, tool);
  const options = { caller: callerOf(agent), signal };
  if (outcome.resultType !== "success") {
    await agent.hooks.run("postToolUseFailure", { ...call_, error: outcome.error ?? outcome.text }, options);
    return outcome;
  }
  const toolResult = { textResultForLlm: outcome.text, resultType: outcome.resultType, toolTelemetry: {} };
  const output = await agent.hooks.run("postToolUse", { ...call_, toolResult }, options);
  if (!output) return outcome;
  const changed = withResult(outcome, output.modifiedResult);
  return output.additionalContext ? { ...changed, text: `${changed.text}\n\n${output.additionalContext}` } : changed;
}

function withResult(outcome: Outcome, result: NonNullable<HookOutput<"postToolUse">>["modifiedResult"]): Outcome {
  if (!result) return outcome;
  const text = result.textResultForLlm ?? outcome.text;
  return {
    ...outcome,
    resultType: result.resultType ?? outcome.resultType,
    error: result.error,
    detail: result.sessionLog ?? text,
    text,
  };
}

export function callerOf(agent: Agent) {
  return {
    session: agent.session,
    agentName: agent.name,
    agentDisplayName: agent.kit.definition?.displayName,
    agentDescription: agent.kit.definition?.description,
    agentPathNames: agent.pathNames,
    parentToolCallId: agent.session.parentCallId,
  };
}

function recordEnd(
  agent: Agent,
  call: OpenCall,
  { outcome, code = outcome.resultType }: { outcome: Outcome; code?: string },
): void {
  const { session } = agent;
  endAsks(session, call.id); // What it asked before a restart, and did not come back to.
  const { permission, external } = session.state.openCalls.get(call.id) ?? {};
  // In one commit with the result below.
  for (const ask of [permission, external]) if (ask) agent.asks.settled(ask.requestId);
  agent.asks.callEnded({ sessionId: session.id, callId: call.id });
  const common = {
    toolCallId: call.id,
    model: session.state.model,
    interactionId: call.interactionId,
    turnId: call.turnId,
    toolTelemetry: { ...outcome.telemetry },
    shellExecution: outcome.shellExecution,
    parentToolCallId: session.parentCallId,
  };
  if (outcome.resultType === "success") {
    session.append("tool.execution_complete", {
      ...common,
      success: true,
      result: {
        content: outcome.text,
        detailedContent: outcome.detail ?? outcome.text,
        binaryResultsForLlm: outcome.binary && [...outcome.binary],
        contents: outcome.contents && [...outcome.contents],
        structuredContent: outcome.structuredContent,
      },
    });
    return;
  }
  const message = outcome.error ?? outcome.text;
  session.append("tool.execution_complete", {
    ...common,
    success: false,
    error: { message, code },
    modelText: message === outcome.text ? undefined : outcome.text,
  });
}

function recordEvents({ session }: Agent, call: OpenCall, end: { outcome: Outcome; tool: Tool | undefined }): void {
  const more = end.tool?.endEvents?.(call.arguments, end.outcome) ?? [];
  for (const event of [...(end.outcome.events ?? []), ...more]) session.append(event.type, event.data);
  for (const text of end.outcome.followUps ?? [])
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
