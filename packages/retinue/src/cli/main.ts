/**
 * The entry of the executable. A program that starts a runtime wants it fast, and harnesses wait for the commands of continuity, so neither path
 * loads anything else.
 */
import { isContinuityCommand } from "../continuity/serve/commands.ts";

async function main(args: readonly string[]): Promise<void> {
  if (args.includes("--headless") || args[0] === "serve") {
    const { runServer } = await import("./server.ts");
    await runServer(args);
  } else if (isContinuityCommand(args[0])) {
    const { runContinuity } = await import("../continuity/serve/program.ts");
    process.exitCode = await runContinuity(args, {
      program: [process.execPath, process.argv[1] ?? ""],
      env: process.env,
      out: process.stdout,
    });
  } else {
    const { runCommand } = await import("./command.ts");
    await runCommand(args);
  }
}

void main(process.argv.slice(2));
