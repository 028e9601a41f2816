/** A compaction that a person asked for: one at a time per session, only while the session is at rest, and it can be stopped. */
import { AppError, type CompactionResult } from "@retinue/protocol";
import { compact } from "../loop/compaction.ts";
import type { HostedSession } from "./hosted-session.ts";
import { refuseWhileBusy } from "./rewind.ts";

const manual = new WeakMap<HostedSession, AbortController>();

export async function compactNow(
  target: HostedSession,
  { customInstructions, signal }: { customInstructions?: string; signal: AbortSignal },
): Promise<CompactionResult> {
  refuseWhileBusy(target, "be compacted");
  if (manual.has(target)) throw new AppError("session_invalid", "A compaction is already under way.");
  const controller = new AbortController();
  manual.set(target, controller);
  const { session, main } = target;
  try {
    const toolset = await main.kit.tools();
    const system = session.state.systemPrompt ?? (await main.kit.systemPrompt(toolset));
    const stop = AbortSignal.any([signal, controller.signal]);
    const done = await compact(main, { system, toolset, signal: stop, trigger: "manual", customInstructions });
    const { summary, tokensRemoved, messagesRemoved, size } = done;
    const contextWindow = { ...size, messagesLength: session.state.messages.length };
    return { success: true, tokensRemoved, messagesRemoved, summaryContent: summary, contextWindow };
  } finally {
    manual.delete(target);
  }
}

/** False when none is under way. */
export function stopCompaction(target: HostedSession): boolean {
  const running = manual.get(target);
  running?.abort();
  return running !== undefined;
}
