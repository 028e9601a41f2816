/**
 * Values that are known to be secret: what a client registered, and the keys that this runtime itself uses.
 *
 * They are known to the whole process, because a secret of one session must not be read in the log or the search of another. A value
 * is also hidden where it is encoded for an address, for JSON or as base64.
 */
import { isMadeOfWords } from "./randomness.ts";

const HIDDEN = "[redacted secret]";
/** Shorter values would be found in the middle of ordinary words. */
export const MIN_KNOWN_VALUE = 4;

const values = new Map<string, readonly string[]>();
/** All forms, longest first, so that a value which contains another is hidden as a whole. */
let forms: readonly string[] = [];

/** Hides a value from now on, wherever text leaves this process or is kept. */
export function addKnownValue(value: string): void {
  if (value.length < MIN_KNOWN_VALUE || values.has(value)) return;
  values.set(value, formsOf(value));
  forms = [...new Set([...values.values()].flat())].sort((a, b) => b.length - a.length);
}

/** A key that the configuration holds. Local endpoints are given words such as `not-needed`, which must stay readable. */
export function addOwnKey(value: string | undefined): void {
  if (value !== undefined && value.length >= 12 && !isMadeOfWords(value)) addKnownValue(value);
}

/** The value with every known secret in its strings hidden; the value itself when there is none. */
export function withoutKnownValues<T>(value: T): T {
  return forms.length === 0 ? value : (hideIn(value) as T);
}

function hideIn(value: unknown): unknown {
  if (typeof value === "string") return hideKnownValues(value);
  if (Array.isArray(value)) return value.map(hideIn);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [hideKnownValues(name), hideIn(each)]));
}

/** For tests: a process starts with none. */
export function forgetKnownValues(): void {
  values.clear();
  forms = [];
}

export function hideKnownValues(text: string): string {
  return hideValues(text, forms);
}

/** Hides these values and their forms, in a text that is known to be short. */
export function hideThese(text: string, secrets: Iterable<string>): string {
  const all = [...secrets].filter((each) => each.length >= MIN_KNOWN_VALUE).flatMap(formsOf);
  return hideValues(
    text,
    all.sort((a, b) => b.length - a.length),
  );
}

function hideValues(text: string, all: readonly string[]): string {
  let clean = text;
  for (const form of all) if (clean.includes(form)) clean = clean.replaceAll(form, HIDDEN);
  return clean;
}

function formsOf(value: string): string[] {
  const escaped = JSON.stringify(value).slice(1, -1);
  const found = [
    value,
    encodeURIComponent(Buffer.from(value).toString()),
    escaped,
    JSON.stringify(escaped).slice(1, -1),
  ];
  return [...new Set(value.length >= 8 ? [...found, ...base64Forms(value)] : found)];
}

/** Base64 depends on how many bytes stand before: there are three forms, of which the characters are taken that depend on the value alone. */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  const found = [0, 1, 2].map((shift) => {
    const whole = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const end = (bytes.length + shift) % 3 === 0 ? whole.length : whole.length - 1;
    return whole.slice(Math.ceil((shift * 8) / 6), end);
  });
  return found.flatMap((form) => [form, form.replaceAll("+", "-").replaceAll("/", "_")]);
}
