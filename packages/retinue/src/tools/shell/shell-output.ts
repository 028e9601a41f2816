/**
 * The output of one shell: its beginning and its end in memory, the whole in a log file once it grows.
 *
 * Positions count characters of the whole output. How much of it is shown is not decided here.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import path from "node:path";
import { makePrivateFolder, PRIVATE_FILE } from "../../store/private-files.ts";

export const HEAD_CHARS = 64 * 1024;
export const TAIL_CHARS = 64 * 1024;
/** The output of a shell, wherever it is kept. */
export interface OutputView {
  readonly bytes: number;
  readonly logPath: string | undefined;
  all(): string;
  /** What came since the last call of this. */
  unread(): string;
}

const MAX_LOG_BYTES = 256 * 1024 * 1024;

export const leftOut = (amount: number, file: string) =>
  `\n[… ${amount} characters left out; all of it is in ${file} …]\n`;

export class ShellOutput implements OutputView {
  readonly #logFile: string;
  #head = "";
  #tail = "";
  #length = 0;
  #bytes = 0;
  #readUpTo = 0;
  #logHandle: number | undefined;
  #logBytes = 0;
  #hasLog = false;

  constructor(logFile: string) {
    this.#logFile = logFile;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get logPath(): string | undefined {
    return this.#hasLog ? this.#logFile : undefined;
  }

  append(text: string): void {
    this.#length += text.length;
    this.#bytes += Buffer.byteLength(text);
    if (this.#head.length + text.length <= HEAD_CHARS && this.#tail === "") {
      this.#head += text;
      return;
    }
    this.#log(text);
    const room = this.#tail === "" ? HEAD_CHARS - this.#head.length : 0;
    this.#head += text.slice(0, room);
    this.#tail += text.slice(room);
    // Cut only when twice too long, so that a stream of small pieces is not copied at each of them.
    if (this.#tail.length > 2 * TAIL_CHARS) this.#tail = this.#tail.slice(-TAIL_CHARS);
  }

  all(): string {
    return this.#from(0);
  }

  unread(): string {
    const text = this.#from(this.#readUpTo);
    this.#readUpTo = this.#length;
    return text;
  }

  close(): void {
    if (this.#logHandle !== undefined) closeSync(this.#logHandle);
    this.#logHandle = undefined;
  }

  #from(start: number): string {
    const tailStart = this.#length - this.#tail.length;
    if (start >= tailStart) return this.#tail.slice(start - tailStart);
    const head = this.#head.slice(start);
    const missing = tailStart - Math.max(this.#head.length, start);
    if (missing === 0) return head + this.#tail;
    return `${head}${leftOut(missing, this.#logFile)}${this.#tail}`;
  }

  #log(text: string): void {
    if (!this.#hasLog) {
      makePrivateFolder(path.dirname(this.#logFile));
      this.#hasLog = true;
      this.#write(this.#head);
    }
    this.#write(text);
  }

  #write(text: string): void {
    if (this.#logBytes > MAX_LOG_BYTES) return;
    this.#logHandle ??= openSync(this.#logFile, "a", PRIVATE_FILE);
    this.#logBytes += writeSync(this.#logHandle, text);
  }
}
