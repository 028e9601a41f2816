/** `retinue` without a command: a prompt from -p or from a pipe, or the first things to try. */
import { resolve } from "node:path";
import { homeFolder } from "../host/home.ts";
import { RUN_VARIABLE } from "../host/subconscious.ts";
import type { CliContext } from "./cli-context.ts";
import { consolidating } from "./consolidation.ts";
import { noteOldNode } from "./old-node.ts";
import { type PromptOptions, runPrompt } from "./prompt.ts";
import { readPrompt } from "./prompt-input.ts";
import quickStart from "./quick-start.md";
import { withResult } from "./result-record.ts";
import { silentTerminal } from "./silent-terminal.ts";
import { UsageError } from "./usage-error.ts";

/** Resolves with the exit code. */
export async function runPromptMode(given: PromptModeOptions, outer: CliContext): Promise<number> {
  const flags = given.silent ? { ...given, quiet: true, stream: false } : given;
  const context = given.silent ? { ...outer, terminal: silentTerminal(outer.terminal) } : outer;
  if (flags.outputFormat !== "json") return promptMode(flags, context);
  return withResult(context.terminal, (record) => promptMode({ ...flags, record }, context));
}

type PromptModeOptions = PromptOptions & {
  prompt?: string;
  attach: readonly string[];
  /** Only the answer is printed. */
  silent?: boolean;
};

async function promptMode(
  { prompt: given, attach, ...flags }: PromptModeOptions,
  context: CliContext,
): Promise<number> {
  const { terminal, env, cwd } = context;
  const isResumed = flags.resume !== undefined || flags.continue;
  if (given === undefined && !isResumed && attach.length === 0 && process.stdin.isTTY) {
    if (flags.record) throw new UsageError('--output-format json needs a prompt. Try: retinue -p "What is here?"');
    terminal.out(quickStart);
    return 0;
  }
  const prompt = await readPrompt({
    given,
    attach,
    isResumed,
    stdin: process.stdin,
    cwd,
    folders: flags.addDir.map((path) => resolve(cwd, path)),
    onOutside: (path) => terminal.note(`${path} is outside this folder, so @ does not send it; --attach does.`),
    patienceMs: PATIENCE_MS,
    onSilence: () => terminal.note(SILENCE),
  });
  if (!flags.quiet && flags.outputFormat === "text") noteOldNode(terminal, { home: homeFolder(env, flags.home) });
  if (env[RUN_VARIABLE] && prompt)
    return consolidating(flags, context, ({ block, config: bounds }) =>
      runPrompt({ ...prompt, text: `${block}\n\n${prompt.text}` }, { ...flags, bounds }, context),
    );
  return runPrompt(prompt, flags, context);
}

/** Programs that start us with an open pipe and never write to it lose this much; people whose command is slower are told what to add. */
const PATIENCE_MS = 3000;
const SILENCE = `Nothing came on standard input within ${PATIENCE_MS / 1000} s, so this goes on without it. Add --attach - to wait for a slow command, or < /dev/null when there is nothing to wait for.`;
