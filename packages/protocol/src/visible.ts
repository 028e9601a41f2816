/**
 * Text that somebody else chose, for a screen: what cannot be seen, or would control the terminal, is shown by its code point.
 *
 * Owns which characters these are. A model, a repository, a server or a page may write text that reads differently from what it does:
 * escape sequences, text that runs from right to left, letters without width, spaces that are none.
 */

/** One line: a command, a path, a name, a title. */
export function visible(text: string): string {
  return withUnseen(text, inOneLine);
}

/** Text of several lines, such as an answer or a diff. */
export function visibleText(text: string): string {
  return withUnseen(text.replaceAll("\r\n", "\n"), inProse);
}

// The expressions stand in functions, because such classes take a millisecond to parse and most processes show nothing.

/** Controls, formats (bidi, zero width, tags), separators, lone surrogates, and whatever else leaves no mark. */
function withUnseen(text: string, shown: Shown): string {
  unseen ??= /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;
  return text.replaceAll(unseen, (char) => shown.of(char));
}

let unseen: RegExp | undefined;

/** How each character is shown, worked out once: a text may consist of nothing else. There are a few thousand of them. */
class Shown {
  readonly #known = new Map<string, string>();
  readonly #show: (char: string) => string;

  constructor(show: (char: string) => string) {
    this.#show = show;
  }

  of(char: string): string {
    const known = this.#known.get(char);
    if (known !== undefined) return known;
    const shown = this.#show(char);
    this.#known.set(char, shown);
    return shown;
  }
}

/** What prose in many languages and emoji need: joiners, directions of single letters, spaces, line breaks. None of it moves other text. */
function isProse(char: string): boolean {
  return /[\n\t\u00a0\u00ad\u200c-\u200f\u061c\u202f\u2009\u200a\u3000]|\p{Variation_Selector}/u.test(char);
}

const ONE_LINE: Readonly<Record<string, string>> = { "\n": "⏎", "\t": "⇥" };

function codePoint(char: string): string {
  return `‹U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`;
}

const inOneLine = new Shown((char) => ONE_LINE[char] ?? codePoint(char));
const inProse = new Shown((char) => (isProse(char) ? char : codePoint(char)));
