/** The folders of `--add-dir` and `--plugin-dir`. One that does not exist is wrong usage: it would do nothing, and nobody would know. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { UsageError } from "./usage-error.ts";

export function addedFolders(given: readonly string[], cwd: string, option = "--add-dir"): string[] {
  return given.map((path) => {
    const folder = resolve(cwd, path);
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return folder;
    throw new UsageError(`${option}: there is no folder ${folder}`);
  });
}
