/**
 * For tests: a screen that does what the escape sequences of the command line say, so that a test sees what a person would see.
 *
 * It knows line breaks, wrapping at its width, going up and erasing what is below. Colours are left out.
 */
import { PassThrough } from "node:stream";
import type { TerminalStreams } from "./terminal.ts";

export class TestScreen {
  readonly streams: TerminalStreams;
  readonly #stdin = Object.assign(new PassThrough(), { isTTY: true });
  readonly #stream: { columns: number; rows: number };
  /** Everything that was printed and not erased; long lines are not wrapped here. */
  #lines = [""];
  #up = 0;
  #isAtStart = true;
  #raw = "";

  constructor({ columns = 60, rows = 20, env = {} }: { columns?: number; rows?: number; env?: object } = {}) {
    const all = Object.assign(new PassThrough(), { isTTY: true, columns, rows });
    // Written at once, as to a terminal, so that a test need not wait for it.
    all.write = ((text: string, done?: () => void) => {
      this.print(text);
      done?.();
      return true;
    }) as typeof all.write;
    this.#stream = all;
    // The streams of a process have more than is used here.
    this.streams = {
      stdin: this.#stdin,
      stdout: all,
      stderr: all,
      env: { TERM: "xterm", NO_COLOR: "1", ...env },
    } as unknown as TerminalStreams;
  }

  /** What is on the screen and above it, without empty lines at the end. */
  get text(): string {
    return this.#lines.join("\n").trimEnd();
  }

  /** Everything that was ever written, with its escape sequences. */
  get raw(): string {
    return this.#raw;
  }

  /** The rows that are on the screen now. */
  get rows(): string[] {
    return this.#lines.flatMap((line) => this.#wrapped(line)).slice(-this.#stream.rows);
  }

  /** The terminal shows what is typed. */
  type(line: string): void {
    this.print(`${line}\n`);
    this.#stdin.write(`${line}\n`);
  }

  endInput(): void {
    this.#stdin.end();
  }

  /** Lines that no longer fit are wrapped anew, as most terminals do. */
  resize(columns: number): void {
    this.#stream.columns = columns;
  }

  /** What a program writes to its terminal. */
  print(text: string): void {
    this.#raw += text;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a screen is controlled by control characters.
    for (const [token, amount, command] of text.matchAll(/\u001b\[(\d*)([A-Za-z])|[\s\S]/gu)) {
      if (command === "A") this.#up = Number(amount);
      else if (command === "J") this.#eraseBelow();
      else if (command === "m") continue;
      else if (token === "\r") this.#isAtStart = true;
      else if (token === "\n") this.#newLine();
      else this.#add(token);
    }
  }

  #newLine(): void {
    this.#lines.push("");
    this.#isAtStart = true;
  }

  #add(char: string): void {
    this.#lines.push(`${this.#lines.pop() ?? ""}${char}`);
    this.#isAtStart = false;
  }

  /** What is left of the column in which the cursor went up stays. */
  #eraseBelow(): void {
    const column = this.#isAtStart ? 0 : (this.#lines.at(-1)?.length ?? 0);
    const heights = this.#lines.map((line) => this.#wrapped(line).length);
    const total = heights.reduce((sum, height) => sum + height, 0);
    let left = Math.max(total - 1 - this.#up, total - this.#stream.rows, 0);
    const kept: string[] = [];
    for (const [at, height] of heights.entries()) {
      const line = this.#lines[at] ?? "";
      if (left < height) {
        const rows = this.#wrapped(line);
        kept.push(`${rows.slice(0, left).join("")}${rows[left]?.slice(0, column) ?? ""}`);
        break;
      }
      kept.push(line);
      left -= height;
    }
    this.#lines = kept;
    this.#up = 0;
  }

  #wrapped(line: string): string[] {
    const rows = [""];
    let width = 0;
    for (const char of line) {
      const wide = /[\u3000-\u9fff]/.test(char) ? 2 : 1;
      if (width + wide > this.#stream.columns) {
        rows.push("");
        width = 0;
      }
      rows.push(`${rows.pop() ?? ""}${char}`);
      width += wide;
    }
    return rows;
  }
}
