/**
 * What a path in the arguments of a call means: `~` is the home folder, anything relative starts at the working folder.
 */
import { existsSync, realpathSync, type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

export function resolvePath(given: string, workingDirectory: string): string {
  if (given === "~" || given.startsWith("~/")) return path.join(homedir(), given.slice(1));
  return path.resolve(workingDirectory, given);
}

/** Where a path leads once links are followed; absent when that is the path itself. What does not exist yet is added as it is. */
export function linkTarget(file: string): string | undefined {
  let existing = file;
  // It does not exist or cannot be read: a folder above it may still be a link.
  while (!existsSync(existing) && path.dirname(existing) !== existing) existing = path.dirname(existing);
  const real = path.join(realpathSync(existing), path.relative(existing, file));
  return real === file ? undefined : real;
}

/** Also absent for an impossible path, such as one below a file. */
export function statOf(file: string): Stats | undefined {
  return existsSync(file) ? statSync(file) : undefined;
}

/** Whether a file operation failed for one of these reasons. */
export function isErrno(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string" && codes.includes(error.code);
}
