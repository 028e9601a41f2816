/** Classes of ASCII characters as bits, so that one look at a table says everything about a character. */

export const UPPER = 1;
export const LOWER = 2;
export const DIGIT = 4;
/** `_` and `-`. */
export const JOINT = 8;
export const DOT = 16;
/** `+`, `/`, `=`: the rest of base64. */
export const BASE64 = 32;
export const TILDE = 64;
export const SPACE = 128;

export const LETTER = UPPER | LOWER;
export const ALNUM = LETTER | DIGIT;

/** Anything else that is ASCII and not a control character. */
export const SYMBOL = 256;
/** Beyond ASCII. */
export const FOREIGN = 512;
/** `=`, `>`, `:` and `-`, besides their own class: a value or an option may follow. */
export const MARK = 1024;
/** Blanks, quotes, `?`, `!`, `]` and the backslash, besides their own class: they may stand between a name and its mark. */
export const BETWEEN = 2048;

/** For every code unit, so that reading needs no comparison. */
const CLASSES = new Uint16Array(65_536).fill(FOREIGN, 128);
for (let code = 33; code < 127; code++) CLASSES[code] = SYMBOL;
const put = (characters: string, bits: number) => {
  for (const each of characters) CLASSES[each.charCodeAt(0)] = bits;
};
put("ABCDEFGHIJKLMNOPQRSTUVWXYZ", UPPER);
put("abcdefghijklmnopqrstuvwxyz", LOWER);
put("0123456789", DIGIT);
put("_-", JOINT);
put(".", DOT);
put("+/=", BASE64);
put("~", TILDE);
put(" \t\n\r", SPACE);
const add = (characters: string, bit: number) => {
  for (const each of characters) CLASSES[each.charCodeAt(0)] = classAt(each, 0) | bit;
};
add("=>:-", MARK);
add(" \t\"'`?!]\\", BETWEEN);

/**
 * The code of a character, and 0 before the beginning and beyond the end.
 *
 * `charCodeAt` must never be asked beyond them: a function that did so once is compiled without its fast path from then on, and takes three
 * times as long for every text that the process reads later.
 */
export function codeAt(text: string, at: number): number {
  return at >= 0 && at < text.length ? text.charCodeAt(at) : 0;
}

/** 0 beyond the ends, too. */
export function classAt(text: string, at: number): number {
  return CLASSES[codeAt(text, at)] ?? 0;
}

/** `startsWith` for a short beginning, of which most texts have not even two characters: a call would cost more than the comparison. */
export function beginsAt(text: string, at: number, beginning: string): boolean {
  for (let n = 0; n < beginning.length; n++) if (codeAt(text, at + n) !== beginning.charCodeAt(n)) return false;
  return true;
}

/** The end of the run of such characters. */
export function runEnd(text: string, from: number, bits: number): number {
  let at = from;
  while (at < text.length && ((CLASSES[text.charCodeAt(at)] ?? 0) & bits) !== 0) at++;
  return at;
}

/** The same, looking no further than a number of characters. */
export function runWithin(text: string, from: number, { of: bits, most }: { of: number; most: number }): number {
  const last = Math.min(text.length, from + most);
  let at = from;
  while (at < last && ((CLASSES[text.charCodeAt(at)] ?? 0) & bits) !== 0) at++;
  return at;
}

/** Every class that occurs. */
export function classesOf(text: string): number {
  let bits = 0;
  for (let at = 0; at < text.length; at++) bits |= CLASSES[text.charCodeAt(at)] ?? 0;
  return bits;
}

/** A part of a text that must not be shown. */
export interface Span {
  from: number;
  to: number;
  /** Named in the place of what is hidden. */
  kind: string;
}
