/** Autopilot: an agent that stops without saying that the task is complete is prompted to go on, a few times. */
import type { Prompt } from "../session/inbox.ts";
import type { World } from "../world.ts";
import words from "./autopilot.md";

export const MAX_CONTINUATIONS = 5;

export function continuation({ newId }: World): Prompt {
  return {
    kind: "prompt",
    id: newId(),
    messageId: newId(),
    prompt: words.trim(),
    source: "system",
    isAutopilotContinuation: true,
  };
}
