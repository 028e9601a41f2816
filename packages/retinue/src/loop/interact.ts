/**
 * One interaction: a prompt (or notices of background work) and every turn that follows from it.
 *
 * Owns the order of hooks, events and turns inside an interaction. Which prompt comes next is decided in drive.ts.
 */
import { AppError } from "@retinue/protocol";
import { ModelCallFailed } from "../models/call-failed.ts";
import { ModelError } from "../models/provider.ts";
import type { InboxEntry, Notice, Prompt } from "../session/inbox.ts";
import { goOn, systemReminder } from "../session/wording.ts";
import type { Agent, Toolset } from "./agent.ts";
import { attachmentLimits, describeAttachments, withImages } from "./attachments.ts";
import { callerOf, runCalls } from "./calls.ts";
import { compactIfNeeded } from "./compaction.ts";
import { isOverflow, makeRoom } from "./overflow.ts";
import { toolsChangedNotice } from "./prompt.ts";
import { tellReport } from "./prompt-limit.ts";
import type { Answer } from "./reading.ts";
import { requestNeed } from "./request-need.ts";
import { runTurn, tellModel } from "./turn.ts";

/** The outcome of an interaction when nothing was thrown. */
export interface InteractionEnd {
  /** The last answer of the model. */
  text: string;
  /** The model stopped by itself, not because of a rejected or terminal call. */
  isNatural: boolean;
}

export interface InteractionOptions {
  signal: AbortSignal;
  delivery: "idle" | "queued";
}

export async function interact(
  agent: Agent,
  entries: readonly InboxEntry[],
  options: InteractionOptions,
): Promise<InteractionEnd> {
  const { session } = agent;
  const [first] = entries;
  let toolset = await toolsFor(agent, entries, options);
  session.announce("session.tools_updated", { model: agent.model().id });
  if (isOutdated(session, first)) return { text: session.state.lastAssistantText, isNatural: false };
  if (first?.kind === "prompt") {
    checkRequiredTool(agent, first, toolset);
    await enter(agent, first, { ...options, toolset });
    toolset = await agent.kit.tools(options); // A prompt may have a mode and tools of its own.
  } else for (const entry of entries) if (entry.kind === "notice") notify(agent, entry);
  await startSession(agent, first, options.signal);
  const interactionId = session.state.interactionId ?? session.world.newId();
  const system = await settleSystemPrompt(agent, toolset, { interactionId, signal: options.signal });
  return toItsEnd(agent, {
    ...options,
    interactionId,
    system,
    toolset,
    prompt: first?.kind === "prompt" ? first : undefined,
    startsAs: startsAs(first),
  });
}

/** A prompt that is stopped before it is recorded never runs, also not after a restart. */
async function toolsFor(
  { kit, session }: Agent,
  entries: readonly InboxEntry[],
  { signal }: { signal: AbortSignal },
): Promise<Toolset> {
  try {
    return await kit.tools({ signal });
  } catch (error) {
    if (signal.aborted) for (const entry of entries) session.inbox.delivered(entry);
    throw error;
  }
}

/** A reminder of autopilot, after the mode was changed. */
const isOutdated = ({ state }: Agent["session"], first: InboxEntry | undefined): boolean =>
  first?.kind === "prompt" && first.isAutopilotContinuation === true && state.modeNow !== "autopilot";

/** The tool must be there. The model is not made to call it, as clients of this protocol expect. */
function checkRequiredTool({ session }: Agent, prompt: Prompt, { byName }: Toolset): void {
  const { requiredTool } = prompt;
  if (!requiredTool || byName.has(requiredTool)) return;
  session.inbox.delivered(prompt);
  throw new AppError("invalid_params", `The prompt needs the tool '${requiredTool}', which is not available.`);
}

/** Continues the calls that an earlier process left open, then runs the turns that follow. */
export async function interactPending(agent: Agent, { signal }: { signal: AbortSignal }): Promise<InteractionEnd> {
  const { session } = agent;
  const toolset = await agent.kit.tools({ signal });
  const calls = [...session.state.openCalls.values()];
  const endsTurn = await runCalls(agent, { calls, toolset, badArguments: new Map(), signal, isResumed: true });
  signal.throwIfAborted();
  // Without calls and with nothing to answer, only the end of the run was left.
  if (endsTurn || (calls.length === 0 && !session.state.isModelDue))
    return { text: session.state.lastAssistantText, isNatural: false };
  const interactionId = session.world.newId();
  const system = await settleSystemPrompt(agent, toolset, { interactionId, signal });
  return toItsEnd(agent, { signal, interactionId, system, toolset, prompt: undefined, startsAs: "agent" });
}

interface TurnsInput {
  interactionId: string;
  system: string;
  toolset: Toolset;
  prompt: Prompt | undefined;
  startsAs: "user" | "agent";
  signal: AbortSignal;
}

async function toItsEnd(agent: Agent, input: TurnsInput): Promise<InteractionEnd> {
  const end = await turns(agent, input);
  tellReport(agent.session);
  return end;
}

async function turns(agent: Agent, input: TurnsInput): Promise<InteractionEnd> {
  const { session } = agent;
  let { system, toolset } = input;
  let initiator = input.startsAs;
  let hasOverflowed = false;
  for (let turn = 0; turn < agent.settings.maxTurns; turn++) {
    input.signal.throwIfAborted();
    const turnId = String(turn);
    await compactIfNeeded(agent, { system, toolset, signal: input.signal });
    const lease = await agent.budget.reserveTurn(() => requestNeed(agent, { system, toolset }), input);
    let answer: Answer | ModelCallFailed;
    let endsHere = false;
    try {
      session.append("assistant.turn_start", {
        turnId,
        interactionId: input.interactionId,
        prompt: lease.prompt && { ...lease.prompt, model: agent.model().id },
      });
      tellModel(agent, lease, { turnId, interactionId: input.interactionId });
      if (await steer(agent, turnId, input.interactionId)) initiator = "user";
      await agent.slot.enter(input.signal);
      answer = await runTurn(agent, {
        turnId,
        interactionId: input.interactionId,
        initiator,
        system,
        toolset,
        headers: input.prompt?.requestHeaders,
        responseFormat: input.prompt?.responseFormat,
        lease,
        signal: input.signal,
      });
    } catch (error) {
      session.append("assistant.turn_end", { turnId });
      if (!isOverflow(error)) throw error;
      answer = error;
    } finally {
      lease.settle(); // Unless the turn has done so.
      agent.slot.leave();
    }
    if (answer instanceof ModelCallFailed) {
      await makeRoom(agent, { error: answer, isAgain: hasOverflowed, system, toolset, signal: input.signal });
      hasOverflowed = true;
      continue;
    }
    hasOverflowed = false;
    if (answer.calls.length > 0) {
      const calls = [...session.state.openCalls.values()];
      endsHere = await runCalls(agent, { calls, toolset, badArguments: answer.badArguments, signal: input.signal });
    }
    session.append("assistant.turn_end", { turnId });
    input.signal.throwIfAborted();
    if (endsHere) return { text: session.state.lastAssistantText, isNatural: false };
    if (answer.calls.length === 0) {
      const isCutOff = answer.finish === "length";
      if (isCutOff && initiator !== "agent")
        session.append("user.message", { content: "", transformedContent: goOn, source: "system" });
      else if (session.inbox.steering.length === 0 && session.inbox.notices.length === 0)
        return naturalEnd(session, answer);
    }
    initiator = "agent";
    const changed = await agent.kit.tools(input);
    if (changed.tools !== toolset.tools) {
      toolset = changed;
      system = await settleSystemPrompt(agent, toolset, input);
    }
  }
  throw new Error(`The agent took ${agent.settings.maxTurns} turns without coming to an end`);
}

function naturalEnd({ state }: Agent["session"], answer: Answer): InteractionEnd {
  // Neither text nor calls is no answer: a visible error is better than a silent end.
  if (answer.text === "" && answer.finish === "stop") throw new ModelError(NO_RESPONSE, { kind: "protocol" });
  return { text: state.lastAssistantText, isNatural: true };
}

const NO_RESPONSE = "No response was returned. Send your message again to retry.";

/** Runs the hooks of a prompt, adds its context, and appends it to the log. */
async function enter(
  agent: Agent,
  prompt: Prompt,
  { signal, delivery, toolset }: InteractionOptions & { toolset: Toolset },
): Promise<void> {
  const { session } = agent;
  const { text, transformed } =
    prompt.transformed === undefined
      ? await transform(agent, prompt, { toolset, signal })
      : { text: prompt.prompt, transformed: prompt.transformed };
  const isFirst = session.state.title === undefined;
  const attachments = await withImages(prompt.attachments ?? [], attachmentLimits(agent));
  session.inbox.delivered(prompt);
  session.append("user.message", {
    content: prompt.isAutopilotContinuation ? "" : (prompt.displayPrompt ?? text),
    transformedContent: transformed,
    messageId: prompt.messageId,
    supportedNativeDocumentMimeTypes: [],
    attachments: attachments.length > 0 ? attachments : undefined,
    agentMode: prompt.agentMode ?? (session.state.mode === "interactive" ? undefined : session.state.mode),
    terms: prompt.terms,
    source: prompt.source || undefined,
    isAutopilotContinuation: prompt.isAutopilotContinuation || undefined,
    isSentBack: prompt.isSentBack || undefined,
    delivery,
    interactionId: session.world.newId(),
    turnId: "0",
    parentAgentTaskId: session.world.newId(),
  });
  if (isFirst && session.state.title && !session.parent)
    session.announce("session.title_changed", { title: session.state.title });
}

async function transform(
  agent: Agent,
  prompt: Prompt,
  { toolset, signal }: { toolset: Toolset; signal: AbortSignal },
): Promise<{ text: string; transformed: string }> {
  const { session, hooks } = agent;
  const options = { caller: callerOf(agent), signal };
  const isHooked = !hooks.isEmpty && prompt.source !== "system";
  let text = prompt.prompt;
  let reminder: string | undefined;
  if (isHooked) {
    const output = await hooks.run("userPromptSubmitted", { prompt: text }, options);
    if (output?.decision === "block") throw refusedPrompt(session, prompt, output.reason);
    text = output?.modifiedPrompt ?? text;
    reminder = output?.additionalContext;
  }
  const { before, after } = await describeAttachments(prompt.attachments ?? [], attachmentLimits(agent));
  const mark = (prompt.agentMode ?? session.state.mode) === "plan" ? "[[PLAN]] " : "";
  let transformed = [
    `<current_datetime>${localIso(session.world.now())}</current_datetime>`,
    toolsChangedNotice(agent, toolset),
    before,
    `${mark}${text}`,
    after,
    reminder && systemReminder(reminder),
    remarkOn(agent, prompt.source, text),
  ]
    .filter(Boolean)
    .join("\n\n");
  if (isHooked) {
    const output = await hooks.run("userPromptTransformed", { prompt: text, transformedPrompt: transformed }, options);
    transformed = output?.modifiedTransformedPrompt ?? transformed;
  }
  return { text, transformed };
}

/** Only the user's own words count, not those of an agent or of the runtime. */
function remarkOn({ kit }: Agent, source: string | undefined, text: string): string | undefined {
  const words = source ? undefined : kit.aboutPrompt?.(text);
  return words && systemReminder(words);
}

/** It leaves the inbox with the error that says why, and never runs. */
function refusedPrompt({ inbox }: Agent["session"], prompt: Prompt, reason = "it gave no reason"): AppError {
  inbox.delivered(prompt);
  return new AppError("invalid_params", `A userPromptSubmitted hook refused this prompt: ${reason}`);
}

function notify({ session }: Agent, notice: Notice): void {
  session.inbox.delivered(notice);
  session.append("system.notification", { content: notice.content, kind: notice.cause });
}

/** Appends steering and notices that came while the agent worked. True when there was steering. */
async function steer(agent: Agent, turnId: string, interactionId: string): Promise<boolean> {
  const { session } = agent;
  let hasUserSpoken = false;
  for (const entry of session.inbox.takeForTurn()) {
    if (entry.kind === "notice") {
      notify(agent, entry);
      continue;
    }
    hasUserSpoken = true;
    const { after, before } = await describeAttachments(entry.attachments ?? [], attachmentLimits(agent));
    const attachments = await withImages(entry.attachments ?? [], attachmentLimits(agent));
    const remark = remarkOn(agent, entry.source, entry.prompt);
    const isChanged = Boolean(after || before || entry.displayPrompt || remark);
    session.inbox.delivered(entry);
    session.append("user.message", {
      content: entry.displayPrompt ?? entry.prompt,
      transformedContent: isChanged ? [before, entry.prompt, after, remark].filter(Boolean).join("\n\n") : undefined,
      messageId: entry.messageId,
      attachments: attachments.length > 0 ? attachments : undefined,
      source: entry.source || undefined,
      delivery: "steering",
      agentMode: entry.agentMode,
      turnId,
      interactionId,
    });
  }
  return hasUserSpoken;
}

/** Runs the session-start hook with the first prompt; its context comes before that prompt. */
async function startSession(agent: Agent, first: InboxEntry | undefined, signal: AbortSignal): Promise<void> {
  const { session, hooks } = agent;
  if (session.parent || session.state.hasStarted || hooks.isEmpty) return;
  const initialPrompt = first?.kind === "prompt" ? first.prompt : undefined;
  await hooks.run("sessionStart", { source: "new", initialPrompt }, { caller: callerOf(agent), signal });
}

/** Sent at each run; recorded only when it changed. */
async function settleSystemPrompt(
  agent: Agent,
  toolset: Toolset,
  { interactionId, signal }: { interactionId: string; signal: AbortSignal },
): Promise<string> {
  const { session } = agent;
  const content = await agent.kit.systemPrompt(toolset, { signal });
  const isSame = session.state.systemPrompt === content;
  session.append("system.message", { role: "system", content, interactionId }, { ephemeral: isSame });
  return content;
}

function startsAs(first: InboxEntry | undefined): "user" | "agent" {
  return first?.kind === "prompt" ? "user" : "agent";
}

/** ISO 8601 with an offset instead of Z. */
function localIso(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "+00:00");
}
