/** What every command works with. */
import type { Terminal } from "./terminal.ts";

export interface CliContext {
  terminal: Terminal;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}
