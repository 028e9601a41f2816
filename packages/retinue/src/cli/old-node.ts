/** A warning about a Node that gets no more fixes, for people who watch a run: once a day, because it cannot be mended at once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makePrivateFolder, writePrivateFile } from "../store/private-files.ts";
import type { Terminal } from "./terminal.ts";

export interface NoticeOptions {
  /** Where it is noted that the warning was shown; undefined: nowhere. */
  home: string | undefined;
  version?: string;
  now?: Date;
}

export function noteOldNode(
  terminal: Pick<Terminal, "isScreen" | "note">,
  { home, version = process.version, now = new Date() }: NoticeOptions,
): void {
  if (!terminal.isScreen || !version.startsWith("v20.")) return;
  if (home !== undefined && !isFirstToday(home, now.toISOString().slice(0, 10))) return;
  terminal.note(`Node 20 is past its end of life: it gets no more security fixes. Node 22 or newer is better.`);
}

function isFirstToday(home: string, today: string): boolean {
  const stamp = join(home, "node-notice");
  if (lastDay(stamp) === today) return false;
  try {
    makePrivateFolder(home);
    writePrivateFile(stamp, `${today}\n`);
    return true;
  } catch {
    return true; // A home that cannot be written to is reported by what needs it.
  }
}

function lastDay(stamp: string): string | undefined {
  try {
    return readFileSync(stamp, "utf8").trim();
  } catch {
    return undefined; // It was never shown.
  }
}
