/**
 * Text that somebody else chose, for a screen: what cannot be seen, or would control the terminal, is shown by its code point.
 *
 * Owns which characters these are. A model, a repository, a server or a page may write text that reads differently from what it does:
 * escape sequences, text that runs from right to left, letters without width, spaces that are none.
 */

/** One line: a command, a path, a name, a title. */
export function visible(text: string): string {
  return inOneLine.of(text);
}

/** Text of several lines, such as an answer or a diff. */
export function visibleText(text: string): string {
  return inProse.of(text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text);
}

/**
 * How each character is shown, worked out once and kept in a table: a text may be a megabyte of what cannot be seen, so that a character
 * may cost no more than a look.
 */
class Shown {
  /** For every code unit: not known yet, as it is, or one more than the place of its words. Made when the first text is shown. */
  #kinds: Uint16Array | undefined;
  readonly #words: string[] = [];
  /** The same for characters of two units. */
  readonly #pairs = new Map<number, number>();
  readonly #show: (char: string) => string;

  constructor(show: (char: string) => string) {
    this.#show = show;
  }

  of(text: string): string {
    this.#kinds ??= new Uint16Array(65_536);
    const kinds = this.#kinds;
    const { length } = text;
    let shown = "";
    let pieces: string[] = [];
    let plainFrom = 0;
    for (let at = 0; at < length; ) {
      if (kinds[text.charCodeAt(at)] === AS_IT_IS) {
        at++;
        continue;
      }
      const kind = this.#kindAt(text, at);
      const size = isPairAt(text, at) ? 2 : 1;
      if (kind === AS_IT_IS) {
        at += size;
        continue;
      }
      const end = this.#runEnd(text, at, { kind, size });
      const words = this.#words[kind - 2] ?? "";
      if (plainFrom < at) pieces.push(text.slice(plainFrom, at));
      pieces.push(end - at === size ? words : words.repeat((end - at) / size));
      plainFrom = end;
      at = end;
      if (pieces.length < BATCH) continue;
      shown += pieces.join("");
      pieces = [];
    }
    return plainFrom === 0 ? text : `${shown}${pieces.join("")}${text.slice(plainFrom)}`;
  }

  /** The end of a run of one and the same character. */
  #runEnd(text: string, from: number, { kind, size }: { kind: number; size: number }): number {
    let end = from + size;
    while (end < text.length && isPairAt(text, end) === (size === 2) && this.#kindAt(text, end) === kind) end += size;
    return end;
  }

  #kindAt(text: string, at: number): number {
    const code = text.charCodeAt(at);
    if (isPairAt(text, at)) return this.#kindOfPair(text.codePointAt(at) ?? code);
    const known = this.#kinds?.[code] ?? UNKNOWN;
    if (known !== UNKNOWN || this.#kinds === undefined) return known;
    const kind = this.#kindOf(text.charAt(at));
    this.#kinds[code] = kind;
    return kind;
  }

  #kindOfPair(point: number): number {
    const known = this.#pairs.get(point);
    if (known !== undefined) return known;
    const kind = this.#kindOf(String.fromCodePoint(point));
    this.#pairs.set(point, kind);
    return kind;
  }

  #kindOf(char: string): number {
    // The expression stands in a function, because such classes take a millisecond to parse and most processes show nothing.
    unseen ??= /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;
    const words = unseen.test(char) ? this.#show(char) : char;
    return words === char ? AS_IT_IS : this.#words.push(words) + 1;
  }
}

const UNKNOWN = 0;
const AS_IT_IS = 1;
/** Joining many pieces at once takes longer than joining some at a time. */
const BATCH = 4_096;

/** Controls, formats (bidi, zero width, tags), separators, lone surrogates, and whatever else leaves no mark. */
let unseen: RegExp | undefined;

function isPairAt(text: string, at: number): boolean {
  if ((text.charCodeAt(at) & 0xfc00) !== 0xd800 || at + 1 >= text.length) return false;
  return (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
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
