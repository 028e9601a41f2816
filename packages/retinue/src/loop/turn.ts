/**
 * One turn: one model request, its streamed answer, and the answer as an event.
 *
 * Owns what is recorded of an answer. The request is in model-request.ts, reading the stream in reading.ts, the calls in calls.ts, and
 * whether there is a next turn in interact.ts.
 */
import { messageOf } from "@retinue/protocol";
import type { ModelChoice } from "../models/catalog.ts";
import type { ModelCall, ModelError, ModelRequest } from "../models/provider.ts";
import { withRetries } from "../models/retry.ts";
import type { Agent, RequestLease, Toolset } from "./agent.ts";
import { contextSize, estimateOf } from "./context-size.ts";
import { apiEndpointOf, reportFailure } from "./model-failure.ts";
import { modelRequest, type RequestInput } from "./model-request.ts";
import { type Answer, Reading } from "./reading.ts";
import { assumeUsage, settleRequest } from "./request-need.ts";

export interface TurnInput extends RequestInput {
  turnId: string;
  interactionId: string;
  lease: RequestLease;
  signal: AbortSignal;
}

export async function runTurn(agent: Agent, input: TurnInput): Promise<Answer> {
  const { session } = agent;
  const choice = agent.model();
  session.announce("session.usage_info", contextSize(agent, input));
  const estimatedTokens = estimateOf(agent, input);
  const startedAt = session.world.now();
  const reading = new Reading(agent);
  let { lease } = input;
  // What a request may cost is recorded before it is sent: a process that is killed meanwhile has not spent nothing.
  if (lease.prompt) await session.log.recorded(input);
  const answered = withRetries(choice.provider, requestFor(agent, { ...input, lease }, choice), {
    signal: input.signal,
    onPart: (part) => reading.read(part),
    onFailure: (failure) => reportFailure(agent, failure, { choice, startedAt, initiator: input.initiator }),
    onRestart: () => reading.restart(),
    onWasted: () => assumeUsage(agent, { lease, choice, written: reading.written }),
    renew: async (error) => {
      lease = await reserveAgain(agent, { error, input, lease });
      return requestFor(agent, { ...input, lease }, choice);
    },
  });
  try {
    await answered;
    const answer = reading.end();
    const durationMs = session.world.now() - startedAt;
    report(agent, { answer, input: { ...input, lease }, choice, durationMs, reading, estimatedTokens });
    return answer;
  } finally {
    lease.settle(); // Unless the report has done so.
  }
}

/** The session may have switched to another model before an attempt is repeated: it goes to the one that was asked first. */
function requestFor(agent: Agent, input: TurnInput, { wireModel }: ModelChoice): ModelRequest {
  const { maxOutputTokens, isLast: isFinal } = input.lease;
  return { ...modelRequest(agent, { ...input, maxOutputTokens, isFinal }), model: wireModel };
}

/** Another attempt is another request, which has to fit as the first one had to. */
async function reserveAgain(
  agent: Agent,
  { error, input, lease }: { error: ModelError; input: TurnInput; lease: RequestLease },
): Promise<RequestLease> {
  try {
    // Others may have to finish first, and need the place.
    const next = await agent.slot.waiting(() => lease.again(input), input.signal);
    tellModel(agent, next, input);
    return next;
  } catch (cause) {
    input.signal.throwIfAborted();
    throw new Error(`${messageOf(cause)}. The last request failed, and was not made again: ${error.message}`, {
      cause,
    });
  }
}

/** Little is left: the model reads it with this request. */
export function tellModel(
  { session }: Agent,
  { words }: RequestLease,
  { turnId, interactionId }: Pick<TurnInput, "turnId" | "interactionId">,
): void {
  if (words)
    session.append("user.message", { content: "", transformedContent: words, source: "system", interactionId, turnId });
}

interface Report {
  answer: Answer;
  input: TurnInput;
  /** The model that was asked; the session may have switched to another one meanwhile. */
  choice: ModelChoice;
  durationMs: number;
  reading: Reading;
  estimatedTokens: number;
}

function report(agent: Agent, { answer, input, choice, durationMs, reading, estimatedTokens }: Report): void {
  const { session } = agent;
  const { usage } = answer;
  const totalNanoAiu = settleRequest(agent, usage, { lease: input.lease, choice, written: reading.written });
  const blocks = answer.reasoning?.blocks;
  session.announce("assistant.usage", {
    model: choice.id,
    ...usage,
    cost: choice.info.multiplier ?? 0,
    copilotUsage: { totalNanoAiu, model: reading.model ?? choice.wireModel },
    maxOutputTokens: input.lease.maxOutputTokens ?? choice.info.maxOutputTokens,
    duration: durationMs,
    initiator: session.parent ? "sub-agent" : input.initiator,
    interactionType: session.parent ? "conversation-subagent" : "conversation-agent",
    isByok: true,
    isAuto: false,
    maxPromptTokens: choice.info.maxPromptTokens,
    transport: "http",
    apiCallId: reading.responseId || undefined,
    apiEndpoint: apiEndpointOf(choice),
    finishReason: WIRE_FINISH[answer.finish],
    contentFilterTriggered: answer.finish === "filtered",
    parentToolCallId: session.parentCallId,
  });
  session.append("assistant.message", {
    messageId: answer.messageId,
    originatingMessageId: session.state.originatingMessageId,
    model: choice.id,
    content: answer.finish === "filtered" && answer.text === "" ? FILTERED : answer.text,
    toolRequests: answer.calls.map((call) => toolRequest(call, input.toolset)),
    interactionId: input.interactionId,
    turnId: input.turnId,
    reasoningText: answer.reasoning?.text,
    reasoningBlocks: blocks && { provider: blocks.provider, blocks: [...blocks.items] },
    apiCallId: reading.responseId || undefined,
    parentToolCallId: session.parentCallId,
    usage,
    estimatedTokens,
    totalNanoAiu,
    answeredBy: reading.model === choice.wireModel ? undefined : reading.model,
    apiDurationMs: durationMs,
  });
  if (answer.reasoning?.text) {
    session.announce("assistant.reasoning", {
      reasoningId: reading.reasoningId ?? answer.messageId,
      content: answer.reasoning.text,
    });
  }
}

const FILTERED = "The model returned no content because the response was blocked by content filtering.";
const WIRE_FINISH = { stop: "stop", calls: "tool_calls", length: "length", filtered: "content_filter" } as const;

function toolRequest(call: ModelCall, toolset: Toolset) {
  const args: unknown = JSON.parse(call.arguments);
  const tool = toolset.byName.get(call.name);
  const intention = typeof args === "object" && args !== null && "description" in args ? args.description : undefined;
  return {
    toolCallId: call.id,
    name: call.name,
    arguments: args,
    type: "function" as const,
    intentionSummary: typeof intention === "string" ? intention : undefined,
    mcpServerName: tool?.mcp?.server,
    mcpToolName: tool?.mcp?.tool,
  };
}
