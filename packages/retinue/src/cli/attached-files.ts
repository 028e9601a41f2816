/**
 * Files and folders that a prompt names: with `@path` among its words, or with --attach.
 *
 * A word with `@` that is no file stays a word: mail addresses, scopes of packages and decorators look the same. What --attach names must exist.
 */
import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { type Attachment, messageOf } from "@retinue/protocol";
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
  return { type: found, path: full };
}

/** Of the words of a prompt, in their order. */
export function mentionedIn(words: string, cwd: string): Attachment[] {
  const mentions = [...words.matchAll(MENTION)].slice(0, MAX_MENTIONS);
  return mentions.flatMap(([, quoted, bare = ""]) => {
    const word = quoted ?? bare;
    if (word.length > MAX_PATH) return [];
    const candidates = quoted === undefined ? [bare, bare.replace(PUNCTUATION, "")] : [quoted];
    for (const path of candidates.filter(Boolean)) {
      const full = absolute(path, cwd);
      const kind = kindOf(full);
      if (kind === "file" || kind === "directory") return [{ type: kind, path: full }];
    }
    return [];
  });
}

/** At the beginning of a word: a path, in quotes when it has blanks. */
const MENTION = /(?<![^\s([{<"'`])@(?:"([^"\n]+)"|([^\s"'`]+))/g;
/** What follows a path in a sentence. */
const PUNCTUATION = /[.,;:!?)\]}>\u2026\u3001\u3002\uff01\uff09\uff0c\uff1a\uff1b\uff1f]+$/;
/** No system opens a longer path. */
const MAX_PATH = 4096;
const MAX_MENTIONS = 100;

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
