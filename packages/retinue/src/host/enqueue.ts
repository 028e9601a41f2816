/** Prompts on their way into a session: from clients, from slash commands, from a rewind. */
import type { Prompt } from "../session/inbox.ts";
import type { HostedSession } from "./hosted-session.ts";

/** Stored before it is acknowledged; runs when the session has nothing else to do. */
export function enqueue(
  { session, runner }: HostedSession,
  messages: readonly Omit<Prompt, "kind" | "id" | "messageId" | "isSteering">[],
  { isImmediate = false, prepend = false, at }: { isImmediate?: boolean; prepend?: boolean; at?: number },
): string[] {
  const isSteering = isImmediate && runner.isRunning;
  const prompts = messages.map((message, index) => {
    const prompt: Prompt = {
      kind: "prompt",
      id: session.world.newId(),
      messageId: session.world.newId(),
      ...message,
      ...(isSteering ? { isSteering } : {}),
    };
    session.inbox.add(prompt, at !== undefined ? { at: at + index } : prepend ? { at: index } : {});
    return prompt;
  });
  session.announce("pending_messages.modified", {});
  try {
    session.log.flush();
  } catch (error) {
    for (const { id } of prompts) session.inbox.remove(id); // Refused: it must not run when the store works again.
    throw error;
  }
  runner.wake();
  return prompts.map(({ messageId }) => messageId);
}
