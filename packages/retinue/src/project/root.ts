/**
 * Which folder a decision about trust is about: the real path of the repository around a folder, or of the folder itself.
 *
 * Links are followed first, so a link to a folder has the trust of that folder and not of the place where the link lies.
 */
import { lstatSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import { AppError, visible } from "@retinue/protocol";
import { realPath } from "../real-path.ts";

/** A git worktree or submodule has a `.git` of its own, and so a root of its own. */
export function projectRootOf(folder: string): string {
  const from = realPath(resolve(folder));
  for (let at = from; !isTooWide(at); at = dirname(at)) {
    if (isThere(join(at, ".git"))) return at;
    if (dirname(at) === at) return from;
  }
  return from; // What is in the home folder is not one project, even where the home folder is a repository.
}

/** Where files of a project lie that count for a working folder: at its root, and in the folder itself, which is the stronger. */
export function placesOf({ folder, root }: { folder: string; root: string }): string[] {
  const real = realPath(resolve(folder));
  return real === root || !isInside(real, root) ? [folder] : [root, folder];
}

/** Throws for a folder that holds more than one project: trust in it would be trust in whatever is put there later. */
export function checkMayBeTrusted(root: string): void {
  if (!isTooWide(root)) return;
  throw new AppError(
    "invalid_params",
    `${visible(root)} cannot be trusted as a whole, since it holds more than one project. Name the folder of the project.`,
  );
}

/** The root of the file system, the home folder and what is above it, the folder for temporary files. */
export function isTooWide(folder: string): boolean {
  const home = realPath(homedir());
  return folder === home || isInside(home, folder) || folder === realPath(tmpdir());
}

export function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

/** Without following a link. What cannot be looked at, such as a path below a file, is not there. */
export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
