/** Which home folder is used, for the runtime and for every command. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";

type Env = Readonly<Record<string, string | undefined>>;

/** What was given on the command line, else RETINUE_HOME, else COPILOT_HOME, else ~/.retinue. A variable that is empty counts as unset. */
export function homeFolder(env: Env, given?: string): string {
  // Absolute, because the daemon has another working directory than the process that starts it.
  return resolve(given || env.RETINUE_HOME || env.COPILOT_HOME || join(env.HOME || homedir(), ".retinue"));
}
