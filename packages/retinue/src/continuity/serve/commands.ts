/** The words of the command line that belong to continuity. A list and nothing else, so that looking at it loads nothing. */
export const CONTINUITY_COMMANDS = [
  "daemon",
  "connect",
  "disconnect",
  "search",
  "checkpoint",
  "transcript",
  "hook",
  "mcp",
  "op",
] as const;

export function isContinuityCommand(word: string | undefined): boolean {
  return CONTINUITY_COMMANDS.some((command) => command === word);
}
