/** The parts of a command line. */
import type { Word } from "./word.ts";

export interface ShellCommand {
  /** Its words as written, without redirections. */
  text: string;
  /** The name first. */
  words: readonly Word[];
}

export interface Redirection {
  target: string;
  isWrite: boolean;
}

export const commandOf = (words: readonly Word[]): ShellCommand => ({
  text: words.map(({ source }) => source).join(" "),
  words,
});
