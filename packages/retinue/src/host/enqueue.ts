/** Prompts on their way into a session: from clients, from slash commands, from a rewind. */
import type { Prompt } from "../session/inbox.ts";
import type { HostedSession } from "./hosted-session.ts";
import { followTrust } from "./project-trust.ts";

/** Stores the prompts; they run when the session has nothing else to do. A prompt that the store refuses never runs. */
export async function enqueue(
  target: HostedSession,
  messages: readonly Omit<Prompt, "kind" | "id" | "messageId" | "isSteering">[],
  { isImmediate = false, prepend = false, at }: { isImmediate?: boolean; prepend?: boolean; at?: number },
): Promise<string[]> {
  const { session, runner } = target;
  const isSteering = isImmediate && runner.isRunning;
  const prompts = messages.map(
    (message): Prompt => ({
      kind: "prompt",
      id: session.world.newId(),
      messageId: session.world.newId(),
      ...message,
      ...(isSteering ? { isSteering } : {}),
    }),
  );
  await session.inbox.receive(prompts, { at: at ?? (prepend ? 0 : undefined) });
  await followTrust(target);
  session.announce("pending_messages.modified", {});
  runner.wake();
  return prompts.map(({ messageId }) => messageId);
}
