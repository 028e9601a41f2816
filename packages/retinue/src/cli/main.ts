/**
 * The entry of the executable. A program that starts a runtime wants it fast, so that path loads nothing else.
 */
/** Commands of continuity. Harnesses wait for some of them, so they load nothing that they do not need. */
const MEMORY: ReadonlySet<string> = new Set([
  "daemon",
  "connect",
  "disconnect",
  "search",
  "checkpoint",
  "transcript",
  "hook",
  "mcp",
  "op",
]);

async function main(args: readonly string[]): Promise<void> {
  if (args.includes("--headless") || args[0] === "serve") {
    const { runServer } = await import("./server.ts");
    await runServer(args);
  } else if (MEMORY.has(args[0] ?? "")) {
    const { runContinuity } = await import("../continuity/program.ts");
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
