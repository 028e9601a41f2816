/** The agent programs that can be connected. A list and nothing else, so that the command line can name them without loading them. */
export const HARNESSES = ["claude-code", "opencode", "openclaw", "codex"] as const;
