/**
 * Unpacks a tarball of somebody else: regular files below one folder, within bounds. Links and devices are left out, and a name that leads out
 * of the folder refuses the whole tarball.
 *
 * The library says what the bytes of a tarball mean, and writes nothing. What may be written, and where, is decided here.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { AppError, messageOf, visible } from "@retinue/protocol";
import { Parser } from "tar/parse";
import type { ReadEntry } from "tar/read-entry";

export const MAX_TOTAL = 64 * 1024 * 1024;
export const MAX_FILES = 5000;
/** Folders and links are not written, but each costs time. */
export const MAX_ENTRIES = 2 * MAX_FILES;

/** Returns how many entries were left out. */
export function unpack(file: string, folder: string): number {
  const tar = tarIn(file);
  let leftOut = 0;
  let [files, entries] = [0, 0];
  const leaveOut = (entry: ReadEntry) => {
    // A name that is too long to be read would leave a file under half its name.
    if (entry.meta) throw refused("it has a name that is too long");
    if (++entries > MAX_ENTRIES) throw refused(`it has more than ${MAX_ENTRIES} entries`);
    if (entry.type !== "Directory") leftOut++;
  };
  const take = (entry: ReadEntry) => {
    if (!isFile(entry)) {
      leaveOut(entry);
      entry.resume();
      return;
    }
    if (++files > MAX_FILES) throw refused(`it has more than ${MAX_FILES} files`);
    writeAtItsEnd(entry, join(folder, ...partsOf(entry.path)));
  };
  try {
    const parser = new Parser({ strict: true, onReadEntry: take });
    parser.on("ignoredEntry", leaveOut);
    parser.end(tar); // All of it happens before this returns, and what is thrown above comes out here.
  } catch (error) {
    throw error instanceof AppError ? error : refused(`it cannot be read (${messageOf(error)})`, error);
  }
  return leftOut;
}

const isFile = ({ type }: ReadEntry): boolean => type === "File" || type === "OldFile" || type === "ContiguousFile";

function writeAtItsEnd(entry: ReadEntry, place: string): void {
  const chunks: Buffer[] = [];
  entry.on("end", () => {
    mkdirSync(dirname(place), { recursive: true });
    const isExecutable = ((entry.mode ?? 0) & 0o100) !== 0;
    writeFileSync(place, Buffer.concat(chunks), { mode: isExecutable ? 0o700 : 0o600 });
  });
  entry.on("data", (chunk) => chunks.push(chunk));
}

/** The library would unpack more than once, and without a bound. */
function tarIn(file: string): Buffer {
  if (statSync(file).size > MAX_TOTAL) throw refused("it is too large");
  const bytes = readFileSync(file);
  const tar = startsWith(bytes, GZIP) ? gunzip(bytes) : bytes;
  if (startsWith(tar, GZIP) || startsWith(tar, ZSTD))
    throw refused("it is not a tar file, packed with gzip or not at all");
  return tar;
}

const GZIP = [0x1f, 0x8b];
const ZSTD = [0x28, 0xb5, 0x2f, 0xfd];
const startsWith = (bytes: Buffer, magic: readonly number[]): boolean => magic.every((byte, at) => bytes[at] === byte);

function gunzip(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_TOTAL });
  } catch (error) {
    const isTooLarge = error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
    throw refused(isTooLarge ? "it is too large" : `it cannot be read (${messageOf(error)})`, error);
  }
}

function partsOf(name: string): string[] {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  const isWrong = name.startsWith("/") || parts.length === 0 || parts.some((part) => /^\.\.$|[\\:\0]/.test(part));
  if (isWrong) throw refused(`the name ${name.slice(0, 200)} leads out of the folder`);
  return parts;
}

function refused(why: string, cause?: unknown): AppError {
  return new AppError("invalid_params", visible(`the tarball was refused: ${why}`), { cause });
}
