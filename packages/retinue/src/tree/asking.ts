/**
 * Questions and forms for people, from any agent of a tree.
 *
 * They go to the clients of the root session, and the first answer counts. Owns what a tool gets when no client can answer.
 */
import type { UserInputAnswer } from "@retinue/protocol";
import { type Asker, ask } from "../asks/ask.ts";
import type { Participants } from "./participants.ts";

interface Asking {
  callId?: string;
  signal: AbortSignal;
}

const NOBODY: UserInputAnswer = {
  answer: "The user is not available to answer. Decide yourself, and say which way you went.",
  wasFreeform: true,
};

export async function askUser(
  asker: Asker,
  { question, choices, callId, signal }: Asking & { question: string; choices?: string[] },
): Promise<UserInputAnswer> {
  const payload = { question, choices, allowFreeform: true };
  return (await ask(asker, "question", { payload, callId, signal })) ?? NOBODY;
}

export async function elicit(
  participants: Pick<Participants, "can">,
  asker: Asker,
  form: Asking & { message: string; requestedSchema: Record<string, unknown>; source?: string },
): Promise<{ action: "accept" | "decline" | "cancel"; content?: Record<string, unknown> }> {
  if (!participants.can("requestElicitation")) return { action: "cancel" };
  const { message, requestedSchema, callId, source, signal } = form;
  const payload = { message, requestedSchema, elicitationSource: source };
  const { action, content } = await ask(asker, "elicitation", { payload, callId, signal });
  return content ? { action, content } : { action };
}
