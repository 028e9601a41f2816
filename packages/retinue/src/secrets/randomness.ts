/**
 * Whether a word looks as if it was drawn at random, as keys are, or is made of words and numbers, as names are.
 *
 * The measure is how often the class of character changes (lower case, upper case, digit). In a random word it changes at more than
 * every second character; in a name it changes where one word ends and the next begins. Hashes that everybody may see (hexadecimal
 * ones, integrity hashes, UUIDs, public SSH keys) are not keys.
 */
import { ALNUM, classAt, DIGIT, LETTER, LOWER, runEnd, UPPER } from "./characters.ts";

const MIN = 20;
/** What is longer is data, such as an image; reading a part of it would say nothing. */
const MAX = 600;

interface Counts {
  upper: number;
  lower: number;
  digits: number;
  changes: number;
}

export function looksRandom(word: string): boolean {
  if (word.length < MIN || word.length > MAX || isPublic(word) || isMadeOfWords(word)) return false;
  const { upper, lower, digits, changes } = count(word.includes("/") ? unpathed(word) : word);
  const size = upper + lower + digits;
  if (size < MIN - 2) return false;
  const rate = changes / size;
  if (upper >= 2 && lower >= 2 && digits >= 2) return rate >= 0.4;
  if (digits >= 5 && size >= 24) return rate >= (size >= 40 ? 0.26 : 0.32);
  return size >= 28 && upper >= 6 && lower >= 6 && rate >= 0.42;
}

/** Without the parts of a path that are words or public by themselves. */
function unpathed(word: string): string {
  return word
    .split("/")
    .filter((part) => !isPublic(part) && !isMadeOfWords(part))
    .join("");
}

function count(word: string): Counts {
  const counts = { upper: 0, lower: 0, digits: 0, changes: 0 };
  let before = 0;
  for (let at = 0; at < word.length; at++) {
    const bits = classAt(word, at) & ALNUM;
    if (bits === 0) continue;
    if (bits === UPPER) counts.upper++;
    else if (bits === LOWER) counts.lower++;
    else counts.digits++;
    if (before !== 0 && bits !== before) counts.changes++;
    before = bits;
  }
  return counts;
}

const PUBLIC =
  /^(?:[0-9a-fA-F-]+|0x[0-9a-fA-F]+|sha\d+[-=:_].*|[0-7][0-9A-HJKMNP-TV-Z]{25}|AAAA[BCE][23]\w.*|MII[A-Z].*)$/;
/** Ids that model endpoints, payment and chat services give to things; knowing one opens nothing. */
const PUBLIC_ID =
  /^(?:call|msg|toolu|req|resp|run|thread|asst|file|org|proj|user|cus|price|prod|pi|pm|evt|sub|in|ch|acct|txn|session|conv|item|fc|rs|batch|chatcmpl|cmpl|gen|step|vs|ws|ft|job|task|agent|event|trace|span|node|ref|doc|page|cursor|build|deploy|dpl|inv|si|seti|cs|ba|card|tok|ses|prt)[_-]/;

export const isPublic = (word: string) => PUBLIC.test(word) || PUBLIC_ID.test(word);

/** `claude-sonnet-4-5-20250929`, `some_module/file_name`: words and numbers, joined. */
export function isMadeOfWords(text: string): boolean {
  let at = 0;
  while (at < text.length) {
    const end = runEnd(text, at, ALNUM);
    const isShort = end - at <= MAX_ABBREVIATION && runEnd(text, at, LOWER) === end;
    if (end > at && !isShort && !isWordOrNumber(text, at, end)) return false;
    at = end + 1;
  }
  return true;
}

const MAX_NUMBER = 8;
/** Letters without a vowel are a word up to here. */
const MAX_ABBREVIATION = 4;
const MAX_WORD = 15;

/** A number, or words in camelCase with at most three digits before or after them. */
function isWordOrNumber(text: string, from: number, to: number): boolean {
  const letters = runEnd(text, from, DIGIT);
  if (letters === to) return to - from <= MAX_NUMBER;
  const digits = runEnd(text, letters, LETTER);
  if (runEnd(text, digits, DIGIT) < to || letters - from > 3 || to - digits > 3) return false;
  return isCamelCase(text.slice(letters, digits));
}

/** Letters only, in words that have a vowel; a few may be abbreviations. */
export function isCamelCase(part: string): boolean {
  if (part.length > 60) return false;
  let [words, short, from] = [0, 0, 0];
  for (let at = 1; at <= part.length; at++) {
    const isEnd = at === part.length || (classAt(part, at) === UPPER && classAt(part, at - 1) === LOWER);
    if (!isEnd) continue;
    if (!isWord(part, from, at)) return false;
    words++;
    if (at - from < 3) short++;
    from = at;
  }
  return words === 1 || short * 2 <= words;
}

function isWord(text: string, from: number, to: number): boolean {
  let [vowels, lower] = [0, 0];
  for (let at = from; at < to; at++) {
    const bits = classAt(text, at);
    if ((bits & LETTER) === 0) return false;
    if (bits === LOWER) lower++;
    if (((VOWELS >> (text.charCodeAt(at) & 31)) & 1) === 1) vowels++;
  }
  const size = to - from;
  if (size > MAX_WORD) return false;
  if (size - lower >= 2 && lower > 0 && lower < 3 && !text.endsWith("s", to)) return false; // `HTTPServer`, not `HROGJk`.
  return vowels > 0 || size <= MAX_ABBREVIATION || (lower === 0 && size <= 6);
}
/** One bit for each, by its place in the alphabet, so that the case does not matter. */
const VOWELS = [..."aeiouy"].reduce((bits, each) => bits | (1 << (each.charCodeAt(0) & 31)), 0);

/** Letters and digits in one value, or letters of both cases mixed as no name mixes them. */
export function isMixed(text: string): boolean {
  const { upper, lower, digits } = count(text);
  return digits > 0 ? upper + lower > 0 : upper > 0 && lower > 0 && !isCamelCase(text);
}

export const hasDigit = (text: string): boolean => {
  for (let at = 0; at < text.length; at++) if (classAt(text, at) === DIGIT) return true;
  return false;
};
