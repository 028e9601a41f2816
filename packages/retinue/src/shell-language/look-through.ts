/**
 * Every command that a command may turn out to be: what `sudo`, `env`, `xargs`, `sh -c` and their like run.
 *
 * Made for rules that deny, so it rather finds too much: after a wrapper, each argument may be the beginning of the command that runs.
 */
import { commandOf, type ShellCommand } from "./command.ts";
import { readLine, type ShellLine } from "./line.ts";
import { isInterpreter, mayRunOthers, programOf, SHELLS, WRAPPERS } from "./programs.ts";

export interface LookedThrough {
  commands: readonly ShellCommand[];
  /** Why there may be others; undefined when these are all. */
  unclear?: string;
}

const MAX_DEPTH = 4;
const MAX_COMMANDS = 100;
const MAX_TEXTS = 12;
const MAX_TEXT_LENGTH = 1000;
/** What they run comes from elsewhere too, or is changed on the way. */
const NOT_ONLY_ARGUMENTS = new Set(["xargs", "parallel", "busybox", "toybox", "su", "script", "watch", "entr"]);

export function lookThrough(line: ShellLine): LookedThrough {
  const found: Found = { commands: [], texts: 0, unclear: line.unclear };
  for (const command of line.commands) follow(command, found, MAX_DEPTH);
  return found;
}

interface Found {
  commands: ShellCommand[];
  /** How many arguments were read as lines of their own. */
  texts: number;
  unclear?: string;
}

function follow(command: ShellCommand, found: Found, depth: number): void {
  found.commands.push(command);
  if (!mayRunOthers(command)) return;
  if (depth === 0 || found.commands.length > MAX_COMMANDS || !isSeenThrough(command))
    found.unclear ??= `'${programOf(command)}' may run another command`;
  if (depth === 0 || isInterpreter(programOf(command))) return;
  followRest(command, found, depth);
  followTexts(command, found, depth);
}

/** The commands that it may run are all among its arguments. */
function isSeenThrough(command: ShellCommand): boolean {
  const program = programOf(command);
  const [, first] = command.words;
  if (!command.words.every((word) => word.isLiteral)) return false;
  if (isInterpreter(program)) return first !== undefined && !first.value.startsWith("-");
  if (SHELLS.has(program)) return first?.value === "-c" && command.words.length === 3;
  if (program === "env") return !command.words.some(({ value }) => /^-[a-zA-Z]*S|^--s|=/.test(value));
  return WRAPPERS.has(program) && !NOT_ONLY_ARGUMENTS.has(program);
}

/** Each argument may be the beginning of the command: how many a wrapper keeps for itself depends on its options. */
function followRest(command: ShellCommand, found: Found, depth: number): void {
  for (let from = 1; from < command.words.length && found.commands.length <= MAX_COMMANDS; from++) {
    const words = command.words.slice(from);
    if (words[0]?.value.startsWith("-")) continue;
    const rest = commandOf(words);
    if (!WRAPPERS.has(programOf(rest))) follow(rest, found, depth - 1);
    else {
      // What follows it is followed here already.
      found.commands.push(rest);
      if (!isSeenThrough(rest)) found.unclear ??= `'${programOf(rest)}' may run another command`;
    }
  }
}

/** An argument may be a command line of its own, as in `sh -c 'rm x'`. */
function followTexts(command: ShellCommand, found: Found, depth: number): void {
  const isShell = SHELLS.has(programOf(command));
  for (const { value, isLiteral } of command.words.slice(1)) {
    if (!isLiteral || (!isShell && !/\s|[;&|]/.test(value))) continue;
    if (found.texts++ >= MAX_TEXTS || value.length > MAX_TEXT_LENGTH || found.commands.length > MAX_COMMANDS) {
      found.unclear ??= `'${programOf(command)}' may run another command`;
      return;
    }
    const line = readLine(value);
    if (line.unclear !== undefined && !value.startsWith("-")) found.unclear ??= line.unclear;
    for (const inner of line.commands) follow(inner, found, depth - 1);
  }
}
