/** Which calls of `sed` surely run nothing and write no file that is not among their operands: its scripts can do both. */
import type { Word } from "./word.ts";

const OPTION = /^(?:-[nErsuz]+|-i|--quiet|--silent|--regexp-extended|--in-place|--separate)$/;
const PRINT = /^(?:\d+|\$)?(?:,(?:\d+|\$))?!?[pdq=]$/;
const SUBSTITUTE = /^s([/|#,:@])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gpiI\d]*$/;

export function isPlainSed(args: readonly Word[]): boolean {
  if (args.some((arg) => arg.mayBeOption)) return false;
  const options = args.filter(({ value }) => value.startsWith("-"));
  const [script] = args.filter(({ value }) => !value.startsWith("-"));
  if (!script?.isLiteral || !options.every(({ value }) => OPTION.test(value))) return false;
  return PRINT.test(script.value) || SUBSTITUTE.test(script.value);
}
