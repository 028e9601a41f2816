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
  return (await ask(asker, "question", { payload, callId, comesAgain: true, signal })) ?? NOBODY;
}

export async function elicit(
  participants: Pick<Participants, "can">,
  asker: Asker,
  form: Asking & {
    message: string;
    /** Of a form. */
    requestedSchema?: Record<string, unknown>;
    /** A page that the person is to open, in place of a form. */
    url?: string;
    source?: string;
    /** The call that shows the form runs again after a restart. */
    comesAgain?: boolean;
  },
): Promise<{ action: "accept" | "decline" | "cancel"; content?: Record<string, unknown> }> {
  const { message, requestedSchema, url, callId, source, comesAgain, signal } = form;
  const isExpected = asker.asks.expected("elicitation", { sessionId: asker.session.id, callId }) !== undefined;
  if (!isExpected && !participants.can("requestElicitation")) return { action: "cancel" };
  const what = url === undefined ? { requestedSchema } : { mode: "url" as const, url };
  const payload = { message, ...what, elicitationSource: source };
  const { action, content } = await ask(asker, "elicitation", { payload, callId, comesAgain, signal });
  return content && url === undefined ? { action, content } : { action };
}
