/** `retinue` without a command: a prompt from -p or from a pipe, or the first things to try. */
import type { CliContext } from "./cli-context.ts";
import { noteOldNode } from "./old-node.ts";
import { type PromptOptions, runPrompt } from "./prompt.ts";
import { readPrompt } from "./prompt-input.ts";
import quickStart from "./quick-start.md";
import { withResult } from "./result-record.ts";

/** Resolves with the exit code. */
export async function runPromptMode(flags: PromptOptions & { prompt?: string }, context: CliContext): Promise<number> {
  if (flags.outputFormat !== "json") return promptMode(flags, context);
  return withResult(context.terminal, (record) => promptMode({ ...flags, record }, context));
}

async function promptMode(
  { prompt, ...flags }: PromptOptions & { prompt?: string },
  context: CliContext,
): Promise<number> {
  const { terminal } = context;
  const isResumed = flags.resume !== undefined || flags.continue;
  if (prompt === undefined && !isResumed && process.stdin.isTTY) {
    terminal.out(quickStart);
    return 0;
  }
  const words = await readPrompt(prompt, { isResumed, stdin: process.stdin });
  if (!flags.quiet && flags.outputFormat === "text") noteOldNode(terminal);
  return runPrompt(words, flags, context);
}
