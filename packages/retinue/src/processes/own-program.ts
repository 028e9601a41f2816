/**
 * How to run this program again, and Node: in the single executable both are that one file.
 */
import { isSea } from "node:sea";

/** The advice for a Node that is too old: in the single executable it cannot be replaced. */
export const howToRenewNode = (): string =>
  isSea() ? "Get an executable that was made with Node 22.12 or newer." : "Install Node 22.12 or newer.";

/** The words before the arguments of a `retinue` command that another process runs. */
export function ownProgram(): string[] {
  return isSea() ? [process.execPath] : [process.execPath, process.argv[1] ?? ""];
}

/** The words before the arguments of `node`. The single executable knows `--eval` and nothing else of it (scripts/single-file-main.cjs). */
export function nodeProgram(): [command: string, ...args: string[]] {
  return isSea() ? [process.execPath, "--as-node"] : [process.execPath];
}
