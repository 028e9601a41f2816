/** The prompt: from the command line, or from standard input. */
import { text } from "node:stream/consumers";
import { UsageError } from "./usage-error.ts";

export async function readPrompt(given: string | undefined, stdin: NodeJS.ReadableStream): Promise<string> {
  const prompt = given === undefined || given === "-" ? await text(stdin) : given;
  if (prompt.trim() === "") throw new UsageError('the prompt is empty. Try: retinue -p "What is here?"');
  return prompt;
}
