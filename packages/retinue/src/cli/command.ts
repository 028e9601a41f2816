/** The command line for people. */
export async function runCommand(args: readonly string[]): Promise<void> {
  process.stderr.write(`retinue: unknown command ${args.join(" ")}\n`);
  process.exitCode = 2;
}
