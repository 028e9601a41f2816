/**
 * A path that is checked first and opened later, perhaps after somebody was asked: what is opened must be what was checked.
 *
 * Owns the second look. Links are resolved again, the file is opened where they led without following another one, and then the system is asked
 * what was opened. Hard links and mounts cannot be seen this way.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { isBelowAny, realPath } from "../../real-path.ts";
import { CallRefused } from "../tool.ts";
import { isErrno } from "./file-path.ts";

export interface CheckedPath {
  /** As it was given, made absolute. */
  readonly path: string;
  /** Where it leads once links are followed. */
  readonly target: string;
}

export const checkedPath = (path: string): CheckedPath => ({ path, target: realPath(path) });

/** The two names of a path in a permission request; the second only where links make a difference. */
export const linkOf = ({ path, target }: CheckedPath): string | undefined => (target === path ? undefined : target);

/** Whether a rule forbids to read this path or something above it. */
export function isUnreadable({ path, target }: CheckedPath, unreadable: readonly string[]): boolean {
  return isBelowAny(path, unreadable) || isBelowAny(target, unreadable);
}

/** Refuses the call when the path leads elsewhere by now. */
export function confirm(checked: CheckedPath): void {
  if (realPath(checked.path) !== checked.target) throw moved(checked);
}

/** Never waits for the other end of a pipe, and never follows a link. */
const CAREFULLY = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export async function openChecked(checked: CheckedPath, flags = constants.O_RDONLY): Promise<FileHandle> {
  confirm(checked);
  const handle = await open(checked.target, flags | CAREFULLY).catch((error: unknown) => {
    throw isErrno(error, "ELOOP") ? moved(checked) : error;
  });
  if (isOpenAt(handle.fd, checked.target)) return handle;
  await handle.close();
  throw moved(checked);
}

/** The same without waiting. Whoever calls it closes the file. */
export function openCheckedSync(checked: CheckedPath, flags: number): number {
  confirm(checked);
  let file: number;
  try {
    file = openSync(checked.target, flags | CAREFULLY);
  } catch (error) {
    throw isErrno(error, "ELOOP") ? moved(checked) : error;
  }
  if (isOpenAt(file, checked.target)) return file;
  closeSync(file);
  throw moved(checked);
}

/** Whether an open file is the one at this path. */
export function isOpenAt(file: number, path: string): boolean {
  const opened = openedPath(file);
  if (opened !== undefined) return opened === path;
  const [there, here] = [lstatSync(path, { throwIfNoEntry: false }), fstatSync(file)];
  return there?.dev === here.dev && there.ino === here.ino && realPath(path) === path;
}

/** Only Linux says under which path a file was opened. */
function openedPath(file: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return undefined;
  }
}

function moved({ path, target }: CheckedPath): CallRefused {
  return new CallRefused({
    resultType: "denied",
    error: "The path leads elsewhere now",
    text: `${path} no longer leads to ${target}, which is what was checked, so nothing was opened. Call again to have it checked anew.`,
  });
}
