/** Whether some arguments of a program are among its risky ones, however they are written: abbreviated, in a bundle, or from a variable. */
import type { Word } from "./word.ts";

export interface RiskyOptions {
  /** Long options, without dashes. */
  long?: string;
  /** Letters of short options. */
  short?: string;
  /** Any argument like this. */
  word?: RegExp;
  /** Only the first argument can be an option. */
  isFirst?: boolean;
  /** First arguments. */
  subcommands?: string;
}

export function riskOf(args: readonly Word[], risky: RiskyOptions): boolean {
  const possible = risky.isFirst ? args.slice(0, 1) : args;
  return isListed(args[0], risky) || possible.some((arg) => arg.mayBeOption || isRisky(arg.value, risky));
}

function isListed(first: Word | undefined, { subcommands = "" }: RiskyOptions): boolean {
  return first !== undefined && subcommands.split(" ").includes(first.value);
}

function isRisky(arg: string, { long = "", short = "", word }: RiskyOptions): boolean {
  if (word?.test(arg)) return true;
  if (arg.startsWith("--")) {
    // Most programs take any beginning of an option that is not ambiguous.
    const name = arg.slice(2).replace(/=.*$/s, "");
    return name !== "" && long.split(" ").some((each) => each !== "" && each.startsWith(name));
  }
  return arg.startsWith("-") && [...short].some((letter) => arg.includes(letter));
}
