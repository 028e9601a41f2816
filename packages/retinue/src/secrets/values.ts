/** Whether what stands beside a telling name is a secret, or a type, a variable, a call, a placeholder, a word. */
import { ALNUM, BASE64, classAt, classesOf, DIGIT, DOT, LETTER, SPACE, SYMBOL } from "./characters.ts";
import type { Claim } from "./names.ts";
import { isCamelCase, isMadeOfWords, isMixed, looksRandom } from "./randomness.ts";

export interface Value {
  text: string;
  isQuoted: boolean;
  /** `NAME=value`, as in a file of variables or a query: not code. */
  isPlain: boolean;
  name: string;
}

const DULL: ReadonlySet<string> = new Set(
  "string number boolean bool undefined null nil none true false any unknown never void object str int integer bytes text varchar char buffer self this new await return required optional yes no on off empty default default_value defaultvalue value values password passwd pass secret token key apikey api_key bearer basic auth oauth oauth2 jwt hidden masked redacted removed todo tbd n/a change changed invalid expired missing inherit auto static dynamic manual file env vault prompt ask local remote internal external public private read write admin user abc foo bar baz example test dummy fake placeholder sample enabled disabled invoke function async const let var type import export from the a an is are not if else for in of and or".split(
    " ",
  ),
);
const MAX_DULL = 14;
const PLACEHOLDER =
  /^(?:<.*>?|\{\{.*|\{[\w.$-]*\}?|%[\w{(].*[})%s]|\$\{.*|\$\(.*|\$[A-Za-z_]\w*|\$env:.*|@\w*|#\{.*|\.\.\.+|\u2026+|\*+|x+|X+|-+|_+|[\u2022\u25cf\u2217\u00b7]+|\?+|\[.*|\/.*\/[gimsuy]*|`.*|!\w+|&\w+|=+>?.*|\|.*|\(.*|:.*)$/;
const FILL_IN =
  /^(?:your|my|some|the|insert|enter|change|replace|example|placeholder|dummy|sample|put|add|set|use)[-_ .]?/i;
const ENVIRONMENT =
  /^(?:process\.env|import\.meta\.env|os\.(?:environ|getenv)|env[.([]|ENV\[|System\.getenv|secrets\.|vars\.|config\.|settings\.|self\.|this\.|ctx\.|context\.|props\.|options\.|params\.|req\.|request\.|getenv|std::env)/;

/** No placeholder and no expression without a blank is longer. */
const MAX_JUDGED = 400;

export function isSecretValue(claim: Claim, value: Value): boolean {
  const { text, isQuoted } = value;
  if (text.length < 4 || (text.length <= MAX_DULL && DULL.has(text.toLowerCase()))) return false;
  if (text.length > MAX_JUDGED) return true;
  const classes = classesOf(text);
  const isPlaceholder = (classAt(text, 0) & ALNUM) === 0 || text[0] === "x" || text[0] === "X";
  if (isPlaceholder && (PLACEHOLDER.test(text) || isRedacted(text))) return false;
  if (!isQuoted && isExpression(value, classes)) return false;
  if ((classes & DIGIT) === 0 && FILL_IN.test(text)) return false;
  if (claim === "password") return isPassword(value, classes);
  if (claim === "weak") return text.length >= 16 && (looksRandom(text) || HEX.test(text) || isKeyLike(text, classes));
  return isToken(value, classes);
}

const HEX = /^[0-9a-fA-F]{32,}$/;

export const isRedacted = (text: string): boolean => text.startsWith("[redacted");

const isKeyLike = (text: string, classes: number): boolean =>
  (classes & (SPACE | DOT)) === 0 && isMixed(text) && !isMadeOfWords(text);

function isPassword(value: Value, classes: number): boolean {
  const { text, isQuoted, isPlain, name } = value;
  if ((classes & SPACE) !== 0) return isQuoted && isPhrase(text, classes);
  if (classes === DIGIT) return isPlain || isQuoted || text.length >= 6;
  if ((classes & DIGIT) !== 0 || /[!@#$%^&*+=~]/.test(text)) return true;
  if ((classes & ~LETTER) === 0) return isWordAsPassword(value);
  return (isPlain || isQuoted) && !/[./]/.test(text) && !sameWords(text, name);
}

/** A password of several words, and not a sentence about passwords. */
function isPhrase(text: string, classes: number): boolean {
  if (text.length > 64 || /[.?!:]$/.test(text) || text.split(/\s+/).length > 6) return false;
  return (classes & DIGIT) !== 0 || /[!@#$%^&*]/.test(text);
}

/** A password of letters only, where names and words of a language stand as well. */
function isWordAsPassword({ text, isQuoted, isPlain, name }: Value): boolean {
  if (sameWords(text, name)) return false;
  if (isPlain && /^[A-Z0-9_]+$/.test(name)) return true;
  if (/^[A-Z][a-z]+$/.test(text)) return isPlain;
  if (/^[a-z]+$/.test(text)) return text.length >= (isQuoted || isPlain ? 6 : 16);
  return !isCamelCase(text);
}

function isToken({ text, isPlain, name }: Value, classes: number): boolean {
  if (text.length < 6 || (classes & SPACE) !== 0) return false;
  if (classes === DIGIT) return text.length >= 12;
  const isOneWord = (classes & ~ALNUM) === 0;
  if (isOneWord && text.length >= 8 && (classes & ALNUM) === ALNUM && /\d\d/.test(text)) return !sameWords(text, name);
  if (isMadeOfWords(text)) {
    const isVariable = isPlain && /^[A-Z][A-Z0-9_]*$/.test(name) && text.length >= 8;
    return (isVariable || (isPlain && /^[a-z]{6,}$/.test(text))) && !isPlace(text, classes) && !sameWords(text, name);
  }
  return (text.length >= 16 || isMixed(text)) && !isPlace(text, classes) && !sameWords(text, name);
}

/** An address without a query, or a file. */
function isPlace(text: string, classes: number): boolean {
  if ((classes & (BASE64 | DOT)) === 0) return false;
  return /^https?:\/\/[^?#]*$|^\.{0,2}\/|^[\w/-]+\.(?:json|ya?ml|txt|pem|key|ts|js|py|go|env|md)$/.test(text);
}

/** `password: passwordSchema`, `secret=my_secret`: the value repeats the name. */
function sameWords(text: string, name: string): boolean {
  const plain = (each: string) => each.toLowerCase().replace(/[^a-z0-9]/g, "");
  const [value, said] = [plain(text), plain(name)];
  return value === said || (said.length >= 4 && value.includes(said)) || (value.length >= 4 && said.includes(value));
}

/** Code: a path of names, a call, an index, an operator after a name. */
function isExpression({ text, isPlain, name }: Value, classes: number): boolean {
  if ((classes & (DOT | SYMBOL)) !== 0 && ENVIRONMENT.test(text)) return true;
  if ((classes & (DOT | SYMBOL | BASE64)) === 0) return !isPlain && isName(text);
  const path = /^[!&*]?[A-Za-z_$#][\w$]*(?:(?:\?\.|\.|::|->)[#A-Za-z_$][\w$]*)*/.exec(text)?.[0];
  if (path === undefined || (isPlain && /^[A-Z][A-Z0-9_]*$/.test(name) && !text.includes("("))) return false;
  const rest = text.slice(path.length);
  if (rest === "") return /\.|::|->/.test(path) ? isMadeOfWords(path) : !isPlain && isName(path);
  if (isPlain && !/^[([]/.test(rest)) return false;
  return /^(?:\?\.|[([<!?:|&;])/.test(rest) && (isMadeOfWords(path) || isName(path));
}

/** A variable: words in camelCase or snake_case, perhaps with a digit at the end. */
const isName = (text: string): boolean => {
  const letters = text.replace(/\d{1,2}$/, "");
  if (!/^[A-Za-z_$]+$/.test(letters)) return false;
  if (letters === text && /^[a-z]{16,}$/.test(text)) return false;
  return text === letters ? isMadeOfWords(letters) : /[A-Z_]/.test(letters) && isMadeOfWords(letters);
};
