/** What an answer "always" to a plain line is remembered by, and how much that covers. */
import { isDangerous } from "./dangerous.ts";
import type { ShellLine } from "./line.ts";
import { identifierOf, isRememberedWhole, mayRunOthers } from "./programs.ts";

export interface Remembered {
  name: string;
  /** Without other arguments than those in the name. */
  isExact: boolean;
}

/** The whole line, when it is of one piece; else each of its commands. */
export function rememberedBy(line: ShellLine): readonly Remembered[] {
  if (isOfOnePiece(line)) return [{ name: line.text, isExact: true }];
  const found = new Map(line.commands.map((command) => [identifierOf(command), isRememberedWhole(command)]));
  return [...found].map(([name, isExact]) => ({ name, isExact }));
}

/** One of its commands is dangerous, or runs what another one gives it, as in `curl … | sh`. */
export function isOfOnePiece({ commands }: ShellLine): boolean {
  return commands.some((command) => isDangerous(command) || (commands.length > 1 && mayRunOthers(command)));
}
