/**
 * The output of a detached shell, which writes straight into its log file so that it can outlive this process.
 *
 * Reads the file when asked, its beginning and its end when it is long.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { HEAD_CHARS, leftOut, type OutputView, TAIL_CHARS } from "./shell-output.ts";

export class ShellLog implements OutputView {
  readonly logPath: string;
  #readUpTo = 0;

  constructor(logPath: string) {
    this.logPath = logPath;
  }

  get bytes(): number {
    return statSync(this.logPath).size;
  }

  all(): string {
    return this.#from(0);
  }

  unread(): string {
    const start = this.#readUpTo;
    this.#readUpTo = this.bytes;
    return this.#from(start);
  }

  #from(start: number): string {
    const file = openSync(this.logPath, "r");
    try {
      const end = fstatSync(file).size;
      const missing = end - start - HEAD_CHARS - TAIL_CHARS;
      if (missing <= 0) return slice(file, start, end);
      const head = slice(file, start, start + HEAD_CHARS);
      return head + leftOut(missing, this.logPath) + slice(file, end - TAIL_CHARS, end);
    } finally {
      closeSync(file);
    }
  }
}

function slice(file: number, start: number, end: number): string {
  const buffer = Buffer.alloc(end - start);
  return buffer.toString("utf8", 0, readSync(file, buffer, 0, buffer.length, start));
}
