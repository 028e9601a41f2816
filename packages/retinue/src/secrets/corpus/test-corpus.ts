/**
 * For tests of redaction: credentials of everyday formats, and ordinary lines that speak of tokens, keys and passwords.
 *
 * The values of credentials are made when a test runs, so that no scanner takes them for real ones.
 */
import { readFileSync } from "node:fs";

const linesOf = (name: string): string[] =>
  readFileSync(new URL(name, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "");

/** The first lines say what the others are. */
export const CREDENTIALS: readonly string[] = linesOf("credentials.txt")
  .slice(2)
  .map((line) => line.replaceAll("⏎", "\n"));
export const ORDINARY: readonly string[] = linesOf("ordinary.txt");

const ALPHABETS: Readonly<Record<string, string>> = {
  hex: "0123456789abcdef",
  digits: "0123456789",
  lower: "abcdefghijklmnopqrstuvwxyz0123456789",
  upper: "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
  letters: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
  alnum: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
  url: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
  base64: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
};

export interface Example {
  /** As it is written above. */
  pattern: string;
  text: string;
  secrets: string[];
}

/** The entry with its values; another seed gives other ones. */
export function exampleOf(pattern: string, seed = 1): Example {
  const secrets: string[] = [];
  let state = (seed * 2_654_435_761 + pattern.length * 40_503) >>> 0;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const text = pattern.replace(/«(?:=([^»]*)|(\w+) (\d+))»/g, (_, word?: string, alphabet = "", size = "0") => {
    const letters = ALPHABETS[alphabet] ?? "";
    const value = word ?? Array.from({ length: Number(size) }, () => letters[next(letters.length)]).join("");
    secrets.push(value);
    return value;
  });
  return { pattern, text, secrets };
}

/** What of a secret can still be read: all of it, or a half that is long enough to matter. */
export function readable({ secrets }: Example, shown: string): string[] {
  return secrets.filter((secret) => {
    const half = Math.ceil(secret.length / 2);
    const parts = secret.length >= 16 ? [secret.slice(0, half), secret.slice(half)] : [secret];
    return parts.some((part) => shown.includes(part));
  });
}
