/** What the commands of continuity work with, from what the command line was given. */
import type { CommandContext } from "../continuity/serve/cli.ts";
import { homeFolder } from "../host/home.ts";
import type { CliContext } from "./cli-context.ts";

export function continuityContext(home: string | undefined, { env, program, terminal }: CliContext): CommandContext {
  return { home: homeFolder(env, home), env, program, out: { write: (text) => terminal.out(text) } };
}
