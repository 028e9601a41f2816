/** The folders of `--add-dir`. One that does not exist is wrong usage: it would allow nothing, and nobody would know. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { UsageError } from "./usage-error.ts";

export function addedFolders(given: readonly string[], cwd: string): string[] {
  return given.map((path) => {
    const folder = resolve(cwd, path);
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return folder;
    throw new UsageError(`--add-dir: there is no folder ${folder}`);
  });
}
