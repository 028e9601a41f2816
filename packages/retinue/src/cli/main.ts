/**
 * The entry of the executable. A program that starts a runtime wants it fast, so that path loads nothing else.
 */
async function main(args: readonly string[]): Promise<void> {
  if (args.includes("--headless") || args[0] === "serve") {
    const { runServer } = await import("./server.ts");
    await runServer(args);
  } else {
    const { runCommand } = await import("./command.ts");
    await runCommand(args);
  }
}

void main(process.argv.slice(2));
