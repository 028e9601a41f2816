/**
 * Files and folders that a prompt names: with `@path` among its words, or with --attach.
 *
 * A word with `@` that is no file stays a word: mail addresses, scopes of packages and decorators look the same. What --attach names must exist.
 */
import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { type Attachment, messageOf } from "@retinue/protocol";
import { isWithin, realPath } from "../real-path.ts";
import { isImageName, MAX_IMAGE_BYTES } from "../tools/files/image-type.ts";
import { sizeOf } from "../tools/output.ts";
import { UsageError } from "./usage-error.ts";

/** Of --attach. A path is relative to the folder in which the command was typed. */
export function attachmentFor(path: string, cwd: string): Attachment {
  const full = absolute(path, cwd);
  const found = path === "" ? undefined : kindOf(full);
  if (found === undefined) throw new UsageError(`--attach: there is no file ${path === "" ? '""' : full}`);
  if (found === "other") throw new UsageError(`--attach: ${full} is neither a file nor a folder`);
  try {
    accessSync(full, constants.R_OK);
  } catch (error) {
    throw new UsageError(`--attach: ${full} cannot be read: ${messageOf(error)}`);
  }
  checkSize(full, found);
  return { type: found, path: full };
}

/** A picture that is too large would be sent as a name only. */
function checkSize(path: string, kind: "file" | "directory"): void {
  if (kind === "file" && isImageName(path)) checkImage(statSync(path).size, path);
}

export function checkImage(bytes: number, what: string): void {
  if (bytes <= MAX_IMAGE_BYTES) return;
  throw new UsageError(`${what} is a picture of ${sizeOf(bytes)}; models are shown at most ${sizeOf(MAX_IMAGE_BYTES)}`);
}

export interface MentionOptions {
  cwd: string;
  /** Where words may choose files: often a program has put text of others among them. */
  folders: readonly string[];
  /** A file that is there, but elsewhere. */
  onOutside?(path: string): void;
}

/** Of the words of a prompt, in their order. */
export function mentionedIn(words: string, { cwd, folders, onOutside }: MentionOptions): Attachment[] {
  const allowed = folders.map(realPath);
  const mentions = [...words.matchAll(MENTION)].slice(0, MAX_MENTIONS);
  return mentions.flatMap(([, quoted, bare = ""]) => {
    const word = quoted ?? bare;
    if (word.length > MAX_PATH) return [];
    const candidates = quoted === undefined ? [bare, withoutPunctuation(bare)] : [quoted];
    for (const path of candidates.filter(Boolean)) {
      const full = absolute(path, cwd);
      const kind = kindOf(full);
      if (kind !== "file" && kind !== "directory") continue;
      if (!allowed.some((folder) => isWithin(folder, realPath(full)))) {
        onOutside?.(full);
        return [];
      }
      checkSize(full, kind);
      return [{ type: kind, path: full }];
    }
    return [];
  });
}

/** At the beginning of a word: a path, in quotes when it has blanks. */
const MENTION = /(?<![^\s([{<"'`])@(?:"([^"\n]+)"|([^\s"'`]+))/g;
/** What follows a path in a sentence. */
const PUNCTUATION = new Set(".,;:!?)]}>\u2026\u3001\u3002\uff01\uff09\uff0c\uff1a\uff1b\uff1f");
/** No system opens a longer path. */
const MAX_PATH = 4096;
const MAX_MENTIONS = 100;

function withoutPunctuation(word: string): string {
  let end = word.length;
  while (end > 0 && PUNCTUATION.has(word.charAt(end - 1))) end--;
  return word.slice(0, end);
}

function absolute(path: string, cwd: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : resolve(cwd, path);
}

function kindOf(path: string): "file" | "directory" | "other" | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat) return undefined;
    if (stat.isDirectory()) return "directory";
    return stat.isFile() ? "file" : "other";
  } catch {
    return undefined; // A name that no system takes, or below something that is no folder.
  }
}
