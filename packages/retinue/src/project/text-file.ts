/**
 * Reads a text file that somebody else may have put there: only a regular file, only so many bytes, and of a project only what really
 * lies in it.
 *
 * Nothing here waits: a named pipe or a device is refused before it is opened, and again after, in case it took the place of a file.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, realpathSync, type Stats } from "node:fs";
import { extname, sep } from "node:path";
import { AppError, messageOf } from "@retinue/protocol";
import { isInside } from "./root.ts";

export interface ReadOptions {
  /** Nothing after this many bytes is read. */
  maxBytes: number;
  /** The real path of the project that the file must lie in. Without it, links may lead anywhere. */
  within?: string;
}

export interface TextFile {
  text: string;
  /** The file is larger than the limit, and this is its beginning. */
  isCut: boolean;
}

const CHUNK_BYTES = 64 * 1024;
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Undefined when there is no such file. Throws, with the path and the reason, when there is one that must not be read. */
export function readTextFile(path: string, options: ReadOptions): TextFile | undefined {
  const found = lstat(path);
  if (!found) return undefined;
  const real = realPathOf(path);
  if (options.within !== undefined) checkIsWithin(path, real, options.within);
  const before = lstat(real);
  if (!before?.isFile()) throw refused(path, `it is ${kindOf(before)}, not a regular file`);
  const handle = openSync(real, FLAGS);
  try {
    const opened = fstatSync(handle);
    const isSame = opened.isFile() && opened.ino === before.ino && opened.dev === before.dev;
    if (!isSame || realPathOf(path) !== real) throw refused(path, "it changed while it was opened");
    return readBounded(handle, options.maxBytes);
  } finally {
    closeSync(handle);
  }
}

/** The same for a file that is of no use in part. */
export function readWholeTextFile(path: string, options: ReadOptions): string | undefined {
  const file = readTextFile(path, options);
  if (file?.isCut) throw refused(path, `it is larger than ${options.maxBytes} bytes`);
  return file?.text;
}

/** Throws when a folder of a project is a link that leads out of it, so that it is not even listed. */
export function checkFolder(folder: string, within: string | undefined): void {
  if (within === undefined || !lstat(folder)) return;
  const real = realPathOf(folder);
  if (real !== within && !isInside(real, within)) throw refused(folder, "it is a link that leads out of the project");
}

function checkIsWithin(path: string, real: string, within: string): void {
  if (!isInside(real, within)) throw refused(path, "it is a link that leads out of the project");
  const isOfGit = real.slice(within.length).split(sep).includes(".git");
  if (isOfGit) throw refused(path, "it is a link into .git, where credentials may be");
  // A project must not make us read a file of another kind, such as .env, under a name that looks harmless.
  if (extname(real) !== extname(path)) throw refused(path, "it is a link to a file of another kind");
}

function readBounded(handle: number, maxBytes: number): TextFile {
  const chunks: Buffer[] = [];
  let left = maxBytes + 1;
  while (left > 0) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, left));
    const count = readSync(handle, chunk, 0, chunk.length, null);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    left -= count;
  }
  const bytes = Buffer.concat(chunks);
  const text = bytes
    .subarray(0, maxBytes)
    .toString("utf8")
    .replace(/^\uFEFF/, ""); // The mark of an editor is no part of it.
  return { text, isCut: bytes.length > maxBytes };
}

function lstat(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOTDIR") return undefined;
    throw refused(path, messageOf(error));
  }
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    const isLost = error instanceof Error && "code" in error && error.code === "ENOENT";
    throw refused(path, isLost ? "it is a link that leads nowhere" : messageOf(error));
  }
}

function kindOf(stats: Stats | undefined): string {
  if (!stats) return "gone";
  if (stats.isDirectory()) return "a folder";
  if (stats.isFIFO()) return "a named pipe";
  return stats.isSocket() ? "a socket" : "a device";
}

function refused(path: string, why: string): AppError {
  return new AppError("invalid_params", `${path} was not read: ${why}`);
}
