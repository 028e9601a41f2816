/**
 * The entry of the executable. A program that starts a runtime wants it fast, so that path loads nothing else.
 */
const [, , ...args] = process.argv;

if (args.includes("--headless") || args[0] === "serve") {
  const { runServer } = await import("./server.ts");
  await runServer(args);
} else {
  const { runCommand } = await import("./command.ts");
  await runCommand(args);
}
