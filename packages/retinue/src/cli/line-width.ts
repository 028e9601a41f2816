/**
 * How many columns a text takes on a screen, and cutting it to fit. Colours of our own take none and are kept.
 *
 * A width is never guessed too small: a line that wraps where none was expected could not be erased again.
 */

const TAB = 8;

/** The text cut to so many columns, with a sign that something is missing. */
export function fitted(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  let [width, shown, isPainted] = [0, "", false];
  for (const { text, columns: wide } of pieces(line)) {
    if (wide === 0) {
      shown += text;
      isPainted = text.startsWith("\u001b");
      continue;
    }
    if (width + wide > columns - 1) break;
    width += wide;
    shown += text;
  }
  if (columns < 1) return "";
  return `${shown}…${isPainted ? "\u001b[0m" : ""}`;
}

/** How many rows of a screen a text takes when its long lines wrap. */
export function rowsOf(lines: readonly string[], columns: number): number {
  return lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
}

export function widthOf(line: string): number {
  let width = 0;
  for (const { text, columns } of pieces(line)) width += text === "\t" ? TAB - (width % TAB) : columns;
  return width;
}

function* pieces(line: string): Generator<{ text: string; columns: number }> {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
  for (const [text] of line.matchAll(/\u001b\[[\d;]*m|[\s\S]/gu))
    yield { text, columns: text.length > 1 && text.startsWith("\u001b") ? 0 : columnsOf(text) };
}

function columnsOf(char: string): number {
  if (char === "\t") return TAB;
  const code = char.codePointAt(0) ?? 0;
  return code >= 0x1100 && WIDE.test(char) ? 2 : 1;
}

/** Letters of East Asia and pictures. Marks that join a letter count as one column, which is at worst too much. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]/u;
