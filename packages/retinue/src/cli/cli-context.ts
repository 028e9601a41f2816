/** What commands work with. */
import type { Terminal } from "./terminal.ts";

/** What every process has. The commands whose start somebody waits for need nothing more. */
export interface ProcessContext {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** How to run this program again: the executable and its first arguments. */
  program: readonly string[];
}

export interface CliContext extends ProcessContext {
  terminal: Terminal;
}
