/** Fixed texts in the history that models read. Stored logs depend on them, so change them with care. */

export const wasInterrupted =
  "This call was interrupted before it finished, so its outcome is unknown. Check the present state before you repeat it.";

/** A host tool that no client answered, though one that has it was asked. */
export function wasNotAnswered(name: string): string {
  return `No client answered the call of '${name}', so its outcome is unknown. Check the present state before you repeat it.`;
}

/** A host tool that no attached client has. */
export function wasNotRun(name: string): string {
  return `No attached client has the tool '${name}', so it was not run. Go on without it, or say what you need.`;
}

export const wasAborted = "The user stopped this call before it finished.";

export const goOn = "Your last answer was cut off by the length limit. Go on exactly where it stopped.";

export function systemReminder(text: string): string {
  return `<system_reminder>\n${text}\n</system_reminder>`;
}

export function notification(text: string): string {
  return `<system_notification>\n${text}\n</system_notification>`;
}

/** After a compaction the history is this one message: what the user asked, and what has happened since. */
export function compactedMessage(prompts: readonly string[], summary: string): string {
  const asked = boundedPrompts(prompts).map((prompt) => `<user_message>\n${prompt}\n</user_message>`);
  return [...asked, `<summary>\n${summary}\n</summary>`].join("\n\n");
}

const MAX_PROMPT_CHARACTERS = 20_000;

/** The newest prompts that fit, in their order; an over-long one is cut. */
function boundedPrompts(prompts: readonly string[]): string[] {
  const kept: string[] = [];
  let left = MAX_PROMPT_CHARACTERS;
  for (const prompt of prompts.toReversed()) {
    if (left <= 0) break;
    kept.unshift(prompt.length > left ? `${prompt.slice(0, left)}…` : prompt);
    left -= prompt.length;
  }
  return kept;
}
