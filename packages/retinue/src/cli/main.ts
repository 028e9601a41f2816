/**
 * The entry of the executable. A client that starts a runtime and a harness that runs a hook wait for it, so nothing is loaded
 * before it is known which command needs it.
 */
import { ownProgram } from "../processes/own-program.ts";
import { readQuickly } from "./quick.ts";
import { UsageError } from "./usage-error.ts";

async function main(args: readonly string[]): Promise<void> {
  const context = { env: process.env, cwd: currentFolder(), program: ownProgram() };
  const start = await readQuickly(args);
  if (start) {
    process.exitCode = await start(context).catch(report);
  } else {
    const { runCommandLine } = await import("./command-line.ts");
    await runCommandLine(args, context);
  }
}

function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new Error("the current folder does not exist any more: go to another one, and try again", { cause });
  }
}

/** Prints one line, and returns the exit code. */
function report(error: unknown): number {
  process.stderr.write(`retinue: ${error instanceof Error ? error.message : String(error)}\n`);
  return error instanceof UsageError ? error.exitCode : 1;
}

void main(process.argv.slice(2)).catch((error: unknown) => {
  process.exitCode = report(error);
});
