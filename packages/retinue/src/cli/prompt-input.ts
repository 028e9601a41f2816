/** The prompt: from the command line, or from standard input. */
import { text } from "node:stream/consumers";
import { UsageError } from "./usage-error.ts";

export interface PromptInput {
  /** Without a prompt the run goes on with what a session has left open. */
  isResumed: boolean;
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
}

/** Undefined when a session is resumed and nothing is added to it. */
export async function readPrompt(
  given: string | undefined,
  { isResumed, stdin }: PromptInput,
): Promise<string | undefined> {
  if (given === undefined && isResumed && stdin.isTTY) return undefined;
  const prompt = given === undefined || given === "-" ? await text(stdin) : given;
  if (prompt.trim() !== "") return prompt;
  if (given === undefined && isResumed) return undefined;
  throw new UsageError('the prompt is empty. Try: retinue -p "What is here?"');
}
