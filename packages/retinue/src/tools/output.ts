/**
 * The one place where output for the model is bounded: what does not fit is kept in a file, and the text names it.
 */
import { randomUUID } from "node:crypto";
import path from "node:path";
import { messageOf } from "@retinue/protocol";
import { makePrivateFolder, writePrivateFile } from "../store/private-files.ts";

export const DEFAULT_MAX_BYTES = 50 * 1024;
const HEAD_CHARS = 4000;
const TAIL_CHARS = 1000;

export interface OutputLimit {
  maxBytes?: number;
  /** Where cut output is kept; else the temp folder of the call. */
  folder?: string;
}

export interface BoundedOutput {
  text: string;
  /** Set when something was cut: the file that has all of it. */
  file?: string;
}

export interface BoundOptions {
  maxBytes?: number;
  tempFolder: string;
  /** The beginning of the file's name. */
  name: string;
  /** A file that has the output already, and how much that is; then no other is made. */
  saved?: { file: string; bytes: number };
}

export function boundOutput(
  text: string,
  { maxBytes = DEFAULT_MAX_BYTES, tempFolder, name, saved }: BoundOptions,
): BoundedOutput {
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return { text };
  const all = Math.max(bytes, saved?.bytes ?? 0);
  try {
    const file = saved?.file ?? keep(text, tempFolder, name);
    return { text: tooLarge(text, all, { file }), file };
  } catch (error) {
    // The call has done its work; that its output cannot be kept is no reason to lose the rest.
    return { text: tooLarge(text, all, { problem: messageOf(error) }) };
  }
}

/** `106.3 KB` */
export function sizeOf(bytes: number): string {
  const kilobytes = bytes / 1024;
  return kilobytes < 1024 ? `${kilobytes.toFixed(1)} KB` : `${(kilobytes / 1024).toFixed(1)} MB`;
}

function keep(text: string, folder: string, name: string): string {
  makePrivateFolder(folder);
  const file = path.join(folder, `${name}-output-${randomUUID()}.txt`);
  writePrivateFile(file, text);
  return file;
}

function tooLarge(text: string, bytes: number, { file, problem }: { file?: string; problem?: string }): string {
  const cure = file
    ? "Search it with grep, or read a part of it with view and view_range. It begins with:"
    : "Run it again with less output to see the rest. It begins with:";
  return [
    `Output too large to read at once (${sizeOf(bytes)}). ${file ? `Saved to: ${file}` : `It could not be saved: ${problem}`}`,
    cure,
    "",
    whole(text.slice(0, HEAD_CHARS)),
    "",
    "[…] and ends with:",
    "",
    whole(text.slice(-TAIL_CHARS)),
  ].join("\n");
}

/** A cut may fall between the two halves of a character. */
const whole = (text: string) => text.replace(/^[\udc00-\udfff]/, "").replace(/[\ud800-\udbff]$/, "");
