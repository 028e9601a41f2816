/**
 * How to run this program again, and Node: in the single executable both are that one file.
 */
import { isSea } from "node:sea";

/** The words before the arguments of a `retinue` command that another process runs. */
export function ownProgram(): string[] {
  return isSea() ? [process.execPath] : [process.execPath, process.argv[1] ?? ""];
}

/** The words before the arguments of `node`. The single executable knows `--eval` and nothing else of it (scripts/single-file-main.cjs). */
export function nodeProgram(): [command: string, ...args: string[]] {
  return isSea() ? [process.execPath, "--as-node"] : [process.execPath];
}
