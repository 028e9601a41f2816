/**
 * What follows when the endpoint says that the conversation is longer than its model takes.
 *
 * Our own measure is an estimate, so this happens before the threshold too. The history is summarised once, and the turn is taken again.
 */
import { ModelCallFailed } from "../models/call-failed.ts";
import type { Agent } from "./agent.ts";
import { type CompactionInput, compact, truncate } from "./compaction.ts";
import { contextSize, messageTokens } from "./context-size.ts";

export function isOverflow(error: unknown): error is ModelCallFailed {
  return error instanceof ModelCallFailed && error.errorType === "context_limit";
}

export interface Overflow extends Omit<CompactionInput, "trigger"> {
  error: ModelCallFailed;
  /** The turn before has overflowed as well. */
  isAgain: boolean;
}

/** Returns when there is room for another try, and throws the error for the person when there is not. */
export async function makeRoom(agent: Agent, { error, isAgain, ...input }: Overflow): Promise<void> {
  const failed = (words: string) =>
    new ModelCallFailed(error.last, `${words} The endpoint says: ${error.last.message}`);
  if (isAgain) throw failed(`${TOO_LONG}, also after a summary was made of it. ${ADVICE}`);
  if (!agent.settings.compaction.enabled) throw failed(`${TOO_LONG}, and "infiniteSessions" is off. ${ADVICE}`);
  if (isPromptAlone(agent))
    throw failed(`This prompt, with the system prompt and the tools, is longer than the model takes. ${SHORTER}`);
  try {
    await compact(agent, { ...input, trigger: "context_limit_retry" });
  } catch (cause) {
    if (input.signal.aborted) throw cause; // Otherwise the failure is recorded.
    const { currentTokens, conversationTokens } = contextSize(agent, input);
    const hasRoom = truncate(agent, input, currentTokens - conversationTokens / 2);
    if (!hasRoom) throw failed(`${TOO_LONG}, and no summary could be made of it. ${ADVICE}`);
  }
}

const TOO_LONG = "The conversation is longer than the model takes";
const SHORTER = "Send a shorter one, or use a model with a larger context.";
const ADVICE = "Start a new session, or use a model with a larger context.";

/** As the fold of a compaction keeps prompts, a longer one would be cut without anybody saying so. */
const LONG_PROMPT = 5000;

function isPromptAlone({ session: { state } }: Agent): boolean {
  const last = state.messages.at(-1);
  return state.messages.length < 2 || (last?.role === "user" && messageTokens(last) > LONG_PROMPT);
}
