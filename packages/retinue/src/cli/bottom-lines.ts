/**
 * The lines at the bottom of a screen that change: what they are, and whether they are drawn at present.
 *
 * Owns how they are cut to the size of the screen, which may change at any time, and how they are taken away again.
 */
import { fitted, rowsOf } from "./line-width.ts";

export class BottomLines {
  readonly #stream: NodeJS.WriteStream;
  #wanted: readonly string[] = [];
  /** As they were cut for the screen; empty when they are not drawn. */
  #drawn: readonly string[] = [];

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  isSame(lines: readonly string[]): boolean {
    return lines.length === this.#wanted.length && lines.every((line, at) => line === this.#wanted[at]);
  }

  change(lines: readonly string[]): void {
    this.#wanted = lines;
  }

  draw(): void {
    if (this.#drawn.length > 0 || this.#wanted.length === 0) return;
    const columns = columnsOf(this.#stream) - 1;
    this.#drawn = fitting(this.#wanted, rowsIn(this.#stream)).map((line) => fitted(line, columns));
    this.#stream.write(`${this.#drawn.join("\n")}\n`);
  }

  /** A screen that has become narrower has wrapped them. */
  erase(): void {
    const rows = rowsOf(this.#drawn, columnsOf(this.#stream));
    if (rows > 0) this.#stream.write(upAndErase(rows));
    this.#drawn = [];
  }

  /** Puts them below what was written beneath them. Where the screen is too low for that they stay where they are as well. */
  lift(beneath: string): void {
    const rows = rowsOf([...this.#drawn, ...beneath.split("\n").slice(0, -1)], columnsOf(this.#stream));
    const canBeLifted = this.#drawn.length > 0 && rows < rowsIn(this.#stream);
    if (canBeLifted) this.#stream.write(`${upAndErase(rows)}${beneath}`);
    this.#drawn = [];
    this.draw();
  }
}

/** From the beginning of the line, because the terminal may have shown something that was typed, like ^C. */
const upAndErase = (rows: number): string => `\r\u001b[${rows}A\u001b[0J`;

/** Terminals that do not know their size say 0. */
export const columnsOf = (stream: NodeJS.WriteStream): number => stream.columns || 80;
const rowsIn = (stream: NodeJS.WriteStream): number => stream.rows || 24;

/** Cuts to the height of the screen: what is taller cannot be erased again. */
function fitting(lines: readonly string[], rows: number): readonly string[] {
  const most = Math.max(3, rows - 2);
  return lines.length > most ? [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more`] : lines;
}
