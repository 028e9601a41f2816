/**
 * Removes secrets from text before anybody reads it: one pass over the text, in time proportional to its length.
 *
 * What is hidden is named by kind, so that a reader knows what was there. Signs are found by their first two characters
 * (formats.ts, places.ts), values by the name before them (assignments.ts), and long words by how random they are (randomness.ts).
 * Values that somebody named as secrets are hidden first (known-values.ts).
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { assigned, entryAt, type Named, nameBefore } from "./assignments.ts";
import {
  ALNUM,
  BASE64,
  beginsAt,
  classAt,
  classesOf,
  codeAt,
  DOT,
  JOINT,
  MARK,
  runEnd,
  runWithin,
  type Span,
  TILDE,
} from "./characters.ts";
import { FORMATS, type Format } from "./formats.ts";
import { hideKnownValues } from "./known-values.ts";
import { claimOf } from "./names.ts";
import { blockAt, COMMANDS, type Finder, optionAt, passwordOfAddress, SIGNS } from "./places.ts";
import { isMadeOfWords, isPublic, looksRandom } from "./randomness.ts";

export function redact(text: string): string {
  const clean = hideKnownValues(text);
  if (clean.length < 6) return clean;
  return clean.length > LONGEST_KEPT ? scanned(clean) : (lately.get(clean) ?? keep(clean, scanned(clean)));
}

/**
 * The same for texts of any length and number, with turns of the loop between: whoever can wait uses this one.
 *
 * A long text is not cut. The scan stops where it is and goes on there, so there is no cut that a secret could slip through.
 */
export async function redactInTurns(texts: readonly string[]): Promise<string[]> {
  const shown: string[] = [];
  for (const text of texts) {
    shown.push(text.length <= SLICE ? redact(text) : await scannedInTurns(hideKnownValues(text)));
    leftInTurn -= text.length;
    if (leftInTurn > 0) continue;
    await nextTurn();
    leftInTurn = SLICE;
  }
  return shown;
}

/** How many characters are read in one turn of the loop: a few milliseconds. */
const SLICE = 64 * 1024;
/** Over all calls, since one after the other they would keep the loop as well. */
let leftInTurn = SLICE;

async function scannedInTurns(text: string): Promise<string> {
  const scan = new Scan(text);
  for (let end = SLICE; end < text.length; end += SLICE) {
    scan.readTo(end);
    await nextTurn();
  }
  return shownOf(text, scan.finish());
}

/** What was scanned lately: the turns of a session are read again for every child that inherits them. */
const lately = new Map<string, string>();
const MOST_KEPT = 256;
const LONGEST_KEPT = 4_096;

function keep(text: string, clean: string): string {
  if (lately.size >= MOST_KEPT) lately.clear();
  lately.set(text, clean);
  return clean;
}

function scanned(text: string): string {
  return shownOf(text, new Scan(text).finish());
}

const shownOf = (text: string, spans: readonly Span[]) => (spans.length === 0 ? text : without(text, spans));

function without(text: string, spans: readonly Span[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { from, to, kind } of spans) {
    if (to <= at) continue;
    if (from >= at) parts.push(text.slice(at, from), `[redacted ${kind}]`);
    at = to; // A span that overlaps the one before it continues it.
  }
  parts.push(text.slice(at));
  return parts.join("");
}

/** What may begin at a character, by that character and the next. */
interface Signs {
  /** By the third character, whether anything goes on with it. */
  goesOn: Uint8Array;
  places: { prefix: string; find: Finder }[];
  commands: { prefix: string; find: Finder }[];
  /** Longest beginning first. */
  formats: Format[];
}

let signsAt: readonly (Signs | undefined)[] | undefined;

function index(): (Signs | undefined)[] {
  const found = new Array<Signs | undefined>(128 * 128).fill(undefined);
  const at = (prefix: string): Signs => {
    const signs = found[keyOf(prefix, 0)] ?? { goesOn: new Uint8Array(128), places: [], commands: [], formats: [] };
    found[keyOf(prefix, 0)] = signs;
    if (prefix.length < 3) signs.goesOn.fill(1);
    else signs.goesOn[codeAt(prefix, 2) & 127] = 1;
    return signs;
  };
  for (const [signs, find] of SIGNS) for (const prefix of signs.split("|")) at(prefix).places.push({ prefix, find });
  for (const [prefix, find] of Object.entries(COMMANDS)) at(prefix).commands.push({ prefix, find });
  for (const format of [...FORMATS].sort((a, b) => b.prefix.length - a.prefix.length))
    at(format.prefix).formats.push(format);
  return found;
}

function keyOf(text: string, at: number): number {
  return (codeAt(text, at) << 7) | (codeAt(text, at + 1) & 127);
}

/** The characters of a word that may be a key. */
const WORD = ALNUM | JOINT | BASE64 | TILDE;
/** How far an option may stand from its command. */
const COMMAND_LINE = 1_000;
/** The members of an entry in a list of variables. */
const NAMING: ReadonlySet<string> = new Set(["name", "Name", "key", "Key"]);
const LONGEST_NAMING = 4;
const VALUED: ReadonlySet<string> = new Set(["value", "Value"]);
/** How far a value may stand from its name in a list of variables. */
const ENTRY = 200;
/** No real text has a telling name, or a sign, as often as this on average. */
const CHARS_PER_NAME = 24;
const UNREAD = 4_096;

class Scan {
  readonly #text: string;
  readonly #spans: Span[] = [];
  #at = 0;
  /** The end of a block that is public. */
  #skipTo = 0;
  #wordFrom = -1;
  #command: { find: Finder; at: number } | undefined;
  /** `name: DB_PASSWORD`, whose value follows in an entry of its own. */
  #entry: Named | undefined;
  /** Words up to here were judged, and no format begins in them. */
  #plainUntil = 0;
  /** How many telling names may still be read, and how many signs: a text that is full of them was made to take long, and is hidden in pieces. */
  #names: number;
  #signs: number;

  constructor(text: string) {
    this.#text = text;
    this.#names = 1_000 + text.length / CHARS_PER_NAME;
    this.#signs = this.#names;
  }

  /** Reads at least this far, unless it is there already. */
  readTo(end: number): void {
    while (this.#at < end) this.#at = this.#step(this.#at);
  }

  /** Reads the rest. */
  finish(): readonly Span[] {
    this.readTo(this.#text.length);
    this.#endWord(this.#text.length);
    return this.#spans;
  }

  /** Reads what begins at `at`, and returns where to read on. */
  #step(at: number): number {
    const text = this.#text;
    const bits = classAt(text, at);
    if ((bits & ALNUM) !== 0) {
      if (this.#wordFrom < 0) this.#wordFrom = at;
      const sign = this.#signAt(at);
      return sign ? this.#hide(sign) : runEnd(text, at + 1, ALNUM);
    }
    if ((bits & WORD) !== 0) {
      if (this.#wordFrom < 0) this.#wordFrom = at;
    } else if (this.#wordFrom >= 0) {
      const next = this.#endWord(at);
      if (next > at + 1) return next;
    }
    if ((bits & MARK) === 0) return at + 1;
    const value = this.#markAt(at);
    return value ? this.#hide(value) : Math.max(at + 1, this.#skipTo);
  }

  #hide(span: Span): number {
    // What began before the secret is judged without it.
    if (this.#wordFrom >= 0 && this.#wordFrom < span.from) this.#endWord(span.from);
    this.#wordFrom = -1;
    this.#spans.push(span);
    return span.to;
  }

  /** A word has ended; a long one may be a key. Returns where to read on. */
  #endWord(to: number): number {
    const from = this.#wordFrom;
    this.#wordFrom = -1;
    if (from < 0 || to - from < 20) return to;
    const span = randomWithin(this.#text, from, to);
    if (!span) return to;
    this.#spans.push(span);
    return Math.max(to, span.to);
  }

  /** At the first character of a word. */
  #signAt(at: number): Span | undefined {
    const text = this.#text;
    signsAt ??= index();
    const signs = signsAt[keyOf(text, at)];
    if (signs === undefined || signs.goesOn[codeAt(text, at + 2) & 127] === 0) return undefined;
    for (const { prefix, find } of signs.places) {
      if (!beginsAt(text, at, prefix)) continue;
      if (--this.#signs < 0) return this.#unread(at);
      const span = find(text, at);
      if (span) return span;
    }
    for (const { prefix, find } of signs.commands) if (beginsAt(text, at, prefix)) this.#command = { find, at };
    if (at < this.#plainUntil) return undefined;
    for (const format of signs.formats) {
      const span = beginsAt(text, at, format.prefix) ? this.#formatted(at, format) : undefined;
      if (span) return span;
    }
    return undefined;
  }

  #formatted(at: number, { prefix, body, min, kind }: Format): Span | undefined {
    const text = this.#text;
    const start = at + prefix.length;
    if (runWithin(text, start, { of: body, most: min }) - start < min) return undefined;
    const end = runWithin(text, start, { of: body, most: MAX_PLAIN });
    if (isPlain(text.slice(start, end))) {
      this.#plainUntil = end;
      return undefined;
    }
    let to = runEnd(text, end, body);
    while (text[to - 1] === "." || text[to - 1] === "-") to--;
    return { from: at, to, kind };
  }

  /** At a character that is neither letter nor digit. */
  #markAt(at: number): Span | undefined {
    const text = this.#text;
    switch (codeAt(text, at)) {
      case 61: // =
      case 62: // >
        return this.#assigned(at);
      case 58: // :
        if (beginsAt(text, at + 1, "//")) return passwordOfAddress(text, at);
        return this.#assigned(at) ?? botToken(text, at);
      case 45: // -
        // A line of dashes is looked at where its letters would stand first.
        return codeAt(text, at + 5) === 66 && beginsAt(text, at, "-----BEGIN ") ? this.#block(at) : this.#option(at);
      default:
        return undefined;
    }
  }

  #assigned(at: number): Span | undefined {
    const named = nameBefore(this.#text, at);
    if (named === undefined) return undefined;
    const { name } = named;
    if (name.length <= LONGEST_NAMING && NAMING.has(name)) this.#entry = entryAt(this.#text, at);
    const isValue = this.#entry !== undefined && at - this.#entry.from < ENTRY && VALUED.has(name);
    const telling = isValue && this.#entry ? this.#entry : named;
    if (claimOf(telling.name) === undefined) return undefined;
    if (--this.#names < 0) return this.#unread(at + 1);
    return assigned(this.#text, at, telling);
  }

  #unread(from: number): Span {
    return { from, to: Math.min(this.#text.length, from + UNREAD), kind: "text full of secrets" };
  }

  #option(at: number): Span | undefined {
    if (at > 0 && (classAt(this.#text, at - 1) & WORD) !== 0) return undefined;
    const isNear = this.#command !== undefined && at - this.#command.at < COMMAND_LINE;
    return optionAt(this.#text, at, isNear ? this.#command?.find : undefined);
  }

  #block(at: number): Span | undefined {
    const block = blockAt(this.#text, at);
    if (!block?.isPublic) return block;
    this.#skipTo = block.to;
    this.#wordFrom = -1;
    return undefined;
  }
}

const MAX_PLAIN = 200;

/** Words that begin like a key by chance: `sk-fading-circle`. One unbroken word of both cases is not one of them. */
function isPlain(body: string): boolean {
  const classes = classesOf(body);
  if ((classes & (JOINT | DOT)) === 0) return /^(?:[a-z]{1,15}|[A-Z]{1,15}|\d{1,8})$/.test(body);
  return (classes & ALNUM) !== ALNUM && isMadeOfWords(body);
}

/** `123456789:AA…`, the token of a Telegram bot; `at` is its colon. */
function botToken(text: string, at: number): Span | undefined {
  if (!beginsAt(text, at + 1, "AA")) return undefined;
  const to = runWithin(text, at + 1, { of: ALNUM | JOINT, most: 60 });
  return to - at > 30 ? { from: at + 1, to, kind: "token" } : undefined;
}

const HASH_BEFORE = /(?:sha-?\d{1,3}|md5|h1|base64|integrity)[:,=-]$/i;

/** The random part of a word; a path is judged part by part, since only base64 has slashes and no words between them. */
function randomWithin(text: string, from: number, to: number): Span | undefined {
  if (to - from > MAX_RANDOM || HASH_BEFORE.test(text.slice(Math.max(0, from - 10), from))) return undefined;
  const word = text.slice(from, to);
  if (isPublic(word)) return undefined;
  const parts = word.split(/[/=]/);
  if (looksRandom(word) && !parts.some((part) => part.length >= 4 && isMadeOfWords(part)))
    return { from, to: dottedEnd(text, to), kind: "key" };
  let at = from;
  for (const part of parts) {
    const end = at + part.length;
    if (looksRandom(part)) return { from: at, to: end === to ? dottedEnd(text, to) : end, kind: "key" };
    at = end + 1;
  }
  return undefined;
}
const MAX_RANDOM = 600;

/** Tokens of three parts have dots between them. */
function dottedEnd(text: string, to: number): number {
  if (text[to] !== "." || (classAt(text, to + 1) & ALNUM) === 0) return to;
  const end = runWithin(text, to, { of: ALNUM | JOINT | DOT, most: 400 });
  return text[end - 1] === "." ? end - 1 : end;
}
