/** Prompts on their way into a session: from clients, from slash commands, from a rewind. */
import type { Prompt } from "../session/inbox.ts";
import { termsOf } from "./given-terms.ts";
import type { HostedSession } from "./hosted-session.ts";
import { followTrust } from "./project-trust.ts";

/** Stores the prompts; they run when the session has nothing else to do. A prompt that the store refuses never runs. */
export async function enqueue(
  target: HostedSession,
  messages: readonly Omit<Prompt, "kind" | "id" | "messageId" | "isSteering">[],
  { isImmediate = false, prepend = false, at }: { isImmediate?: boolean; prepend?: boolean; at?: number },
): Promise<string[]> {
  const { session, runner } = target;
  const prompts = messages.map((message): Prompt => {
    const terms = message.terms ?? termsOf(target, message.prompt);
    const isSteering = isImmediate && runner.isRunning && !terms; // Terms are for an interaction of its own.
    return {
      kind: "prompt",
      id: session.world.newId(),
      messageId: session.world.newId(),
      ...message,
      terms,
      ...(isSteering ? { isSteering } : {}),
    };
  });
  await session.inbox.receive(prompts, { at: at ?? (prepend ? 0 : undefined) });
  await followTrust(target);
  session.announce("pending_messages.modified", {});
  runner.wake();
  return prompts.map(({ messageId }) => messageId);
}
