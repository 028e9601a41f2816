/**
 * Runs a command line, and ends the process with its exit code: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
 */
import { messageOf } from "@retinue/protocol/errors";
import { CommanderError } from "commander";
import type { CliContext, ProcessContext } from "./cli-context.ts";
import { parserOf } from "./parser.ts";
import { openTerminal } from "./terminal.ts";
import { UsageError } from "./usage-error.ts";

export async function runCommandLine(args: readonly string[], context: ProcessContext): Promise<void> {
  const { stdin, stdout, stderr } = process;
  const terminal = openTerminal({ stdin, stdout, stderr, env: context.env });
  const code = await codeOf(args, { ...context, terminal });
  await terminal.flush();
  process.exit(code); // Kept-alive connections to a model would hold the process for some seconds more.
}

async function codeOf(args: readonly string[], context: CliContext): Promise<number> {
  let code = 0;
  const parser = parserOf({
    print: (text) => context.terminal.out(text),
    run: async (command, values) => {
      code = await command.start(values, context);
    },
  });
  // SDK clients may put --headless anywhere. Their command lines come here only when they are wrong or ask for help.
  const words = args.includes("--headless") ? ["serve", ...args] : [...args];
  try {
    await parser.parseAsync(words, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    context.terminal.note(`retinue: ${messageOf(error)}`);
    return error instanceof UsageError ? error.exitCode : 1;
  }
}
