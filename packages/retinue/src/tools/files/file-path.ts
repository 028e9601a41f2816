/**
 * What a path in the arguments of a call means: `~` is the home folder, anything relative starts at the working folder.
 */
import { existsSync, type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { realPath } from "../../real-path.ts";

export function resolvePath(given: string, workingDirectory: string): string {
  if (given === "~" || given.startsWith("~/")) return path.join(homedir(), given.slice(1));
  return path.resolve(workingDirectory, given);
}

/** Where a path leads once links are followed; absent when that is the path itself. */
export function linkTarget(file: string): string | undefined {
  const real = realPath(file);
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
