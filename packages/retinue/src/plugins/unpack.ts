/**
 * Unpacks a tarball of somebody else: regular files below one folder, within bounds. Links and devices are left out, and a name that leads out
 * of the folder refuses the whole tarball.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { visible } from "@retinue/protocol";

export const MAX_TOTAL = 64 * 1024 * 1024;
export const MAX_FILES = 5000;
const BLOCK = 512;

/** Returns how many entries were left out. */
export function unpack(file: string, folder: string): number {
  if (statSync(file).size > MAX_TOTAL) throw new Error("the tarball is too large");
  let leftOut = 0;
  let count = 0;
  for (const { name, content, isExecutable } of entriesOf(tarIn(readFileSync(file)))) {
    if (content === undefined) {
      leftOut++;
      continue;
    }
    if (++count > MAX_FILES) throw new Error(`the tarball has more than ${MAX_FILES} files`);
    const place = join(folder, ...partsOf(name));
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, content, { mode: isExecutable ? 0o700 : 0o600 });
  }
  return leftOut;
}

function tarIn(bytes: Buffer): Buffer {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return isGzip ? gunzipSync(bytes, { maxOutputLength: MAX_TOTAL }) : bytes;
}

export function partsOf(name: string): string[] {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  const isWrong = name.startsWith("/") || parts.length === 0 || parts.some((part) => /^\.\.$|[\\:\0]/.test(part));
  if (isWrong) throw new Error(visible(`the name ${name.slice(0, 200)} leads out of the folder`));
  return parts;
}

interface TarEntry {
  name: string;
  /** Undefined for what is no regular file. */
  content: Buffer | undefined;
  isExecutable: boolean;
}

function* entriesOf(tar: Buffer): Generator<TarEntry> {
  let longName: string | undefined;
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const head = tar.subarray(at, at + BLOCK);
    if (head.every((byte) => byte === 0)) return;
    const size = numberIn(head, 124, 12);
    const content = tar.subarray(at + BLOCK, at + BLOCK + size);
    if (content.length < size) throw new Error("the tarball is cut off");
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const kind = String.fromCharCode(head[156] ?? 0);
    if (kind === "L") longName = textIn(content, 0, size);
    else if (kind === "x") longName = paxPath(content.toString("utf8")) ?? longName;
    else if (kind !== "g") {
      const name = longName ?? nameIn(head);
      longName = undefined;
      if (kind === "5") continue;
      const isExecutable = (numberIn(head, 100, 8) & 0o100) !== 0;
      yield { name, content: kind === "0" || kind === "\0" ? content : undefined, isExecutable };
    }
  }
}

function nameIn(head: Buffer): string {
  const isUstar = head.subarray(257, 262).toString("latin1") === "ustar";
  const prefix = isUstar ? textIn(head, 345, 155) : "";
  return prefix === "" ? textIn(head, 0, 100) : `${prefix}/${textIn(head, 0, 100)}`;
}

function paxPath(records: string): string | undefined {
  return /^\d+ path=(.*)$/m.exec(records)?.[1];
}

function textIn(bytes: Buffer, at: number, length: number): string {
  const field = bytes.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.subarray(0, end === -1 ? length : end).toString("utf8");
}

function numberIn(head: Buffer, at: number, length: number): number {
  const digits = textIn(head, at, length).trim();
  if (!/^[0-7]*$/.test(digits)) throw new Error("the tarball cannot be read");
  return digits === "" ? 0 : Number.parseInt(digits, 8);
}
