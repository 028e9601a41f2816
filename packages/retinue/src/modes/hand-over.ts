/** What becomes of a command's outcome when nobody but the runtime looks at it: a prompt is sent, a text is told. */
import type { CommandOutcome } from "@retinue/protocol";
import { enqueue } from "../host/enqueue.ts";
import type { HostedSession } from "../host/hosted-session.ts";

/** What a line was sent with, beside its words. */
export type Message = Partial<Parameters<typeof enqueue>[1][number]>;

/** The id of the message that was sent; undefined when there was none to send. */
export async function handOver(
  target: HostedSession,
  outcome: CommandOutcome,
  message: Message = {},
): Promise<string | undefined> {
  const told = textOf(outcome);
  const infoType = outcome.kind === "agent-prompt" ? "notice" : "command";
  if (told) target.session.announce("session.info", { infoType, message: told });
  if (outcome.kind !== "agent-prompt") return undefined;
  const { prompt, displayPrompt, terms, mode: agentMode = message.agentMode } = outcome;
  const [messageId] = await enqueue(target, [{ ...message, prompt, displayPrompt, terms, agentMode }], {});
  return messageId;
}

function textOf(outcome: CommandOutcome): string | undefined {
  switch (outcome.kind) {
    case "text":
      return outcome.text;
    case "completed":
      return outcome.message;
    case "agent-prompt":
      return outcome.notice;
    default:
      return undefined; // For clients with dialogs.
  }
}
