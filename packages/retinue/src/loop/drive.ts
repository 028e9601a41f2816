/**
 * The whole control flow of an agent: take what waits in the inbox, work through it, stop when nothing is left.
 *
 * Owns queueing, vetoes of stop hooks and gates, and errors of a run. What happens inside one interaction is in interact.ts; whether autopilot goes
 * on afterwards, in autopilot.ts.
 */
import { AppError, messageOf } from "@retinue/protocol";
import { ModelCallFailed } from "../models/call-failed.ts";
import type { Prompt } from "../session/inbox.ts";
import { type Stop, stopOf } from "../session/stop.ts";
import type { Agent } from "./agent.ts";
import { callerOf } from "./calls.ts";
import { GateFailed, type StopOptions } from "./gates.ts";
import { type InteractionEnd, interact, interactPending } from "./interact.ts";

export type RunEnd =
  | { type: "completed"; text: string }
  | { type: "failed"; text: string; error: string; statusCode?: number; isModelError?: boolean }
  | { type: "stopped"; text: string; stop: Stop };

export interface DriveOptions {
  signal: AbortSignal;
  /** What an earlier process left open comes first. */
  isPending?: boolean;
  /** Autopilot goes on with this. */
  reminder?: Prompt;
  /** Whether work that the agent has started still runs in the background. */
  isWaiting?(): boolean;
}

export async function drive(agent: Agent, options: DriveOptions): Promise<RunEnd> {
  try {
    return await work(agent, options);
  } finally {
    agent.budget.end();
  }
}

async function work(agent: Agent, options: DriveOptions): Promise<RunEnd> {
  const { signal, isPending = false, reminder, isWaiting = () => false } = options;
  const { session } = agent;
  let end: RunEnd = { type: "completed", text: session.state.lastAssistantText };
  let vetoes = 0;
  let delivery: "idle" | "queued" = "idle";
  let pending = isPending;
  let reminding = reminder;
  while (!signal.aborted) {
    const entries = pending ? [] : reminding ? [reminding] : session.inbox.takeForRun();
    if (!pending && entries.length === 0) break;
    if (entries.length > 0 && !reminding) session.announce("pending_messages.modified", {});
    // A notice and a reminder go on with what led to them.
    if (delivery === "idle" && entries[0]?.kind === "prompt" && !reminding) agent.budget.begin();
    reminding = undefined;
    let reason: string | undefined;
    const interaction = async () => {
      const done = await (pending
        ? interactPending(agent, { signal })
        : interact(agent, entries, { signal, delivery }));
      reason = await objection(agent, done.text, { vetoes, isWaiting: isWaiting(), signal });
      return done;
    };
    end = await one(agent, interaction, signal);
    pending = false;
    delivery = "queued";
    if (end.type !== "completed") continue;
    if (reason !== undefined) {
      vetoes++;
      session.inbox.add(nextPrompt(agent, reason), { at: 0 });
      continue;
    }
    vetoes = 0;
  }
  const stop = stopOf(signal);
  return stop ? { type: "stopped", text: session.state.lastAssistantText, stop } : end;
}

/** Why the agent may not stop yet: a hook or a gate says so. */
async function objection(agent: Agent, text: string, options: StopOptions): Promise<string | undefined> {
  const verdict = await agent.gates.atStop(text, options);
  if (verdict.passed) return undefined;
  if (verdict.isFinal) throw new GateFailed(verdict.words);
  return verdict.words;
}

async function one(agent: Agent, work: () => Promise<InteractionEnd>, signal: AbortSignal): Promise<RunEnd> {
  try {
    const { text } = await work();
    return { type: "completed", text };
  } catch (error) {
    const stop = stopOf(signal);
    const text = agent.session.state.lastAssistantText;
    if (stop) return { type: "stopped", text, stop };
    return await fail(agent, error, signal);
  }
}

async function fail(agent: Agent, error: unknown, signal: AbortSignal): Promise<RunEnd> {
  const { session } = agent;
  const message = messageOf(error);
  const statusCode = error instanceof ModelCallFailed ? error.statusCode : undefined;
  session.append("session.error", {
    errorType: error instanceof ModelCallFailed ? error.errorType : error instanceof GateFailed ? "gate" : "query",
    message,
    statusCode,
  });
  if (!agent.hooks.isEmpty) {
    const described =
      error instanceof Error
        ? { name: error.name, message, stack: error.stack ?? "" }
        : { name: "Error", message, stack: "" };
    const details = { error: described, errorContext: "model_call" as const, recoverable: false };
    // A refused commit is not a second error of the run: the log reports it.
    await agent.hooks.run("errorOccurred", details, { caller: callerOf(agent), signal }).catch(() => undefined);
  }
  return {
    type: "failed",
    text: session.state.lastAssistantText,
    error: message,
    statusCode,
    isModelError: error instanceof AppError && error.code === "model_failed",
  };
}

function nextPrompt({ session: { world } }: Agent, prompt: string): Prompt {
  return { kind: "prompt", id: world.newId(), messageId: world.newId(), prompt, isSentBack: true };
}
