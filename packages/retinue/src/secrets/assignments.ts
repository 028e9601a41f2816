/**
 * Secrets beside a name that says so: `NAME=value`, `"name": "value"`, `name: value`, `<name>value</name>`, headers, also in JSON that is
 * text of other JSON.
 *
 * Everything here looks a bounded number of characters back and ahead, so a text is read in time proportional to its length.
 */
import { ALNUM, BETWEEN, classAt, codeAt, DOT, JOINT, runWithin, SPACE, type Span } from "./characters.ts";
import { type Claim, claimOf } from "./names.ts";
import { isMadeOfWords, isMixed, looksRandom } from "./randomness.ts";
import { isRedacted, isSecretValue } from "./values.ts";

const MAX_NAME = 64;
const MAX_VALUE = 4_096;
const MAX_LINE = 8_192;

export interface Named {
  name: string;
  from: number;
}

/** The name that ends before `at`, past quotes, brackets and blanks. */
export function nameBefore(text: string, at: number): Named | undefined {
  const before = classAt(text, at - 1);
  if ((before & (NAME | BETWEEN)) === 0) return undefined;
  const end = (before & NAME) !== 0 ? at : nameEnd(text, at);
  let from = end;
  while (end - from < MAX_NAME && (classAt(text, from - 1) & NAME) !== 0) from--;
  return end - from < 2 ? undefined : { name: text.slice(from, end), from };
}

const NAME = ALNUM | JOINT | DOT;

function nameEnd(text: string, at: number): number {
  let end = at;
  while (at - end < 3 && isBlank(codeAt(text, end - 1))) end--;
  if ((classAt(text, end - 1) & BETWEEN) === 0) return end;
  const mark = codeAt(text, end - 1);
  if (mark === 63 || mark === 33 || mark === 93) end--; // ?, !, ]
  if (isQuote(codeAt(text, end - 1))) end--;
  for (let n = 0; n < 8 && codeAt(text, end - 1) === 92; n++) end--;
  return end;
}

const isQuote = (code: number) => code === 34 || code === 39 || code === 96;
const isBlank = (code: number) => code === 32 || code === 9;

/** The secret after the `=`, `:` or `>` at `at`, which gives a value to the name. */
export function assigned(text: string, at: number, { name, from }: Named): Span | undefined {
  if (codeAt(text, at) === 62 && codeAt(text, from - 1) !== 60) return undefined; // `>` needs its `<`.
  const claim = claimOf(name);
  return claim && valueAt(text, at, { name, from, claim });
}

/** The variable that a list of names and values names at `at`: `{"name": "API_TOKEN", "value": …}`. */
export function entryAt(text: string, at: number): Named | undefined {
  let from = at + 1;
  while (from - at < 8 && (classAt(text, from) & (ALNUM | JOINT)) === 0) from++;
  const name = text.slice(from, runWithin(text, from, { of: ALNUM | JOINT | DOT, most: MAX_NAME }));
  const claim = claimOf(name);
  return claim === undefined || claim === "weak" ? undefined : { name, from };
}

interface Claimed extends Named {
  claim: Claim;
}

function valueAt(text: string, at: number, { name, claim, from: nameFrom }: Claimed): Span | undefined {
  let from = at + 1;
  for (let n = 0; n < 2 && (text[from] === "=" || text[from] === ">"); n++) from++;
  const isCompared = from > at + 1;
  const unspaced = from;
  while (from - unspaced < 4 && isBlank(codeAt(text, from))) from++;
  if (from === unspaced + 4) return undefined;
  const isSpaced = from > unspaced || isBlank(codeAt(text, at - 1));
  for (let n = 0; n < 8 && text[from] === "\\"; n++) from++;
  if (isQuote(codeAt(text, from + 1)) && /[bBrRfFuU$]/.test(text.charAt(from))) from++;
  const quote = isQuote(codeAt(text, from)) ? text[from] : undefined;
  if (quote !== undefined) from++;
  const isPlain = text[at] === "=" && !isSpaced && !isCompared;
  if (claim === "authorization" || claim === "cookie") return headerAt(text, from, { claim, quote });
  const to = quote === undefined ? bareEnd(text, from, isPlain) : quotedEnd(text, from, quote);
  if (text[at] === ">" && text[to] !== "<") return undefined; // An element's text ends where a tag begins.
  if (to - from < 4 || (text[nameFrom - 1] === "$" && !isPlain)) return undefined;
  const value = {
    text: text.slice(from, to),
    isQuoted: quote !== undefined,
    isPlain: isPlain || text[at] === ">",
    name,
  };
  return isSecretValue(claim, value) ? { from, to, kind: claim === "password" ? "password" : "secret" } : undefined;
}

/** The end of the string, of its line, or of what is read of it. */
function quotedEnd(text: string, from: number, quote: string): number {
  const last = Math.min(text.length, from + MAX_VALUE);
  const close = quote.charCodeAt(0);
  const isNested = codeAt(text, from - 2) === 92;
  for (let at = from; at < last; at++) {
    const each = codeAt(text, at);
    if (each === 10) return at;
    if (each === close)
      return codeAt(text, at - 1) === 92 && !isNested && at - 1 > from ? backslashesBefore(text, at, from) : at;
    if (each === 92 && isNested && isQuote(codeAt(text, at + 1))) return at;
  }
  return last;
}

function backslashesBefore(text: string, at: number, from: number): number {
  let end = at;
  while (end > from && text[end - 1] === "\\") end--;
  return end;
}

/** For every ASCII character whether it is one of these. */
function oneOf(characters: string): Uint8Array {
  const table = new Uint8Array(128);
  for (const each of characters) table[each.charCodeAt(0)] = 1;
  return table;
}
const isOneOf = (table: Uint8Array, code: number) => code < 128 && table[code] === 1;
const ENDS = oneOf(" \t\r\n\"'`,;)}]<>|\\");
/** The punctuation after a value. */
const TRAILING = oneOf(").:");
const PLAIN_ENDS = oneOf(" \t\r\n\"'`,;}<>|\\&");

function bareEnd(text: string, from: number, isPlain: boolean): number {
  const ends = isPlain ? PLAIN_ENDS : ENDS;
  const last = Math.min(text.length, from + MAX_VALUE);
  let at = from;
  while (at < last && !isOneOf(ends, codeAt(text, at))) at++;
  while (at - from > 1 && isOneOf(TRAILING, codeAt(text, at - 1))) at--;
  return at;
}

/** A header's value is everything up to the end of its line or string; the scheme stays readable. */
function headerAt(text: string, start: number, { claim, quote }: { claim: Claim; quote?: string }): Span | undefined {
  const first = classAt(text, start);
  if ((first & (ALNUM | JOINT)) === 0 || isRedacted(text.slice(start, start + 9))) return undefined;
  if (claim === "cookie")
    return COOKIE.test(text.slice(start, start + 120))
      ? { from: start, to: headerEnd(text, start, quote), kind: "cookie" }
      : undefined;
  const scheme = text.slice(start, runWithin(text, start, { of: ALNUM | JOINT, most: 41 }));
  const blank = runWithin(text, start + scheme.length, { of: SPACE, most: 4 });
  if (blank === start + scheme.length)
    return isCredential(text.slice(start, start + JUDGED), 8)
      ? { from: start, to: headerEnd(text, start, quote), kind: "token" }
      : undefined;
  const credentials = text.slice(blank, blank + JUDGED);
  const isCut = /^(?:<|\$|\{|%[s({]|\[|\*|\.\.|\u2026|"|'|\+)/.test(credentials);
  if (isCut || !isCredential(credentials, SCHEMES.test(scheme) ? KNOWN_SCHEME : 12)) return undefined;
  return { from: blank, to: headerEnd(text, blank, quote), kind: "token" };
}

/** Enough to tell a credential from a sentence. */
const JUDGED = 64;
const COOKIE = /^[\w.!#$%&'*+^`|~-]{1,60}=[^\s;]{6}|^[^\n]{0,60};\s?[\w.-]{1,40}=[^\s;]{8}/;

function headerEnd(text: string, start: number, quote: string | undefined): number {
  const isParametered = quote === undefined && /=\s?"/.test(text.slice(start, start + 60));
  const last = Math.min(text.length, start + MAX_LINE);
  let to = start;
  while (to < last && !isHeaderEnd(text, to, { quote, isParametered })) to++;
  while (to > start && /[\s,;]/.test(text.charAt(to - 1))) to--;
  return to;
}

const KNOWN_SCHEME = 4;
const SCHEMES =
  /^(?:basic|bearer|digest|negotiate|ntlm|hawk|aws4-\S+|token|api-?key|key|oauth|mac|dpop|vapid|sharedkey\S*|sso-key|signature|bot|splunk|privatetoken|hmac\S*|genie-?key|discogs|snowflake)$/i;

function isHeaderEnd(
  text: string,
  at: number,
  { quote, isParametered }: { quote?: string; isParametered: boolean },
): boolean {
  const each = text[at];
  if (each === "\n" || each === "\r") return true;
  if (each === "\\")
    return text[at + 1] === "n" || text[at + 1] === "r" || (isQuote(codeAt(text, at + 1)) && !isParametered);
  return quote === undefined ? isQuote(codeAt(text, at)) && !isParametered : each === quote;
}

function isCredential(text: string, least: number): boolean {
  const blank = text.search(/\s/);
  const first = blank < 0 ? text : text.slice(0, blank);
  if (first.length < least) return false;
  if (least === KNOWN_SCHEME && first.length >= 12) return !/^[a-z]+(?:[-_.][a-z]+)*$/.test(first);
  if (/=["']?\S{4,}/.test(text) || looksRandom(first)) return true;
  if (/\s/.test(text) && isMadeOfWords(first)) return false;
  return isMixed(first) || (first.length >= 12 && !isMadeOfWords(first));
}
