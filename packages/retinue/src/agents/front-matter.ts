/**
 * Markdown with a YAML head (`---`): splits, parses and checks it, with file and line in every error.
 *
 * Used for agents (`*.agent.md`) and skills (`SKILL.md`). The head is data only; nothing in it is ever run.
 */
import { AppError, messageOf, wrongPlace } from "@retinue/protocol";
import { type Document, isNode, isScalar, LineCounter, parseDocument, visit } from "yaml";
import type * as z from "zod";

export interface FrontMatter<Head> {
  head: Head;
  /** The text after the head, trimmed. */
  body: string;
  /** The head as it is written, before it is checked. */
  data: unknown;
  /** The line of a value in the file. */
  lineOf(path: readonly string[]): number;
}

const FENCE = /^---[ \t]*$/;
/** The parser's time grows faster than the text, and files of a project are parsed before anybody has trusted it. */
const MAX_HEAD_CHARACTERS = 8 * 1024;
/**
 * The parser calls itself for each level, and a head that is nested deeply enough ends the whole process. Counting brackets, whether they
 * are quoted or not, bounds the levels for certain.
 */
const MAX_BRACKETS = 200;
const MAX_LEADING_MARKS = 4;
const LEADING_MARKS = /^(?:[ \t]*[-:](?=\s|$))+/;
const MAX_MARKS = 40;
const MAX_MISTAKES = 20;
/** `? key`: nobody needs them here, and the parser takes exponential time for nested ones. */
const EXPLICIT_KEY = /(?:^[\s:-]*|[[{,]\s*)\?(?=\s|$)/m;

/** Everything that is wrong in a head, each mistake with its file and line. */
export class BadFrontMatter extends AppError {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super("invalid_params", mistakes.join("; "));
    this.mistakes = mistakes;
  }
}

/** Each of them, of whatever was thrown while a file was read. */
export function mistakesOf(error: unknown): readonly string[] {
  return error instanceof BadFrontMatter ? error.mistakes : [messageOf(error)];
}

/** Whether a text begins with a head at all. */
export function hasFrontMatter(text: string): boolean {
  const plain = plainOf(text);
  return isFence(plain.slice(0, endOfLine(plain, 0)));
}

/** More rules for a head than its schema has. */
export type Check = (written: { data: unknown; lineOf(path: readonly string[]): number }) => readonly string[];

/** Parses `text`; `file` is only for messages. A text without a head is checked as an empty head. */
export function parseFrontMatter<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  { file, check = () => [] }: { file: string; check?: Check },
): FrontMatter<z.output<Schema>> {
  const { yaml, body, before } = split(text, file);
  if (yaml.length > MAX_HEAD_CHARACTERS) throw complaint(file, 1, TOO_LONG);
  if (isTooDeep(yaml)) throw complaint(file, 1, "the front matter is nested too deeply");
  if (EXPLICIT_KEY.test(yaml)) throw complaint(file, 1, "the front matter has a key with a question mark before it");
  const { document, lines } = readYaml(yaml);
  // The head starts on the line under the fence.
  const lineAt = (position: number) => lines.linePos(position).line + before;
  const [broken] = document.errors; // The others are mostly what follows from it, on every line below.
  if (broken) throw complaint(file, lineAt(broken.pos[0]), broken.message);
  const twice = repeatedKey(document);
  if (twice !== undefined) throw complaint(file, lineAt(twice), "Map keys must be unique");

  const data = dataOf(document, file);
  const parsed = schema.safeParse(data);
  const more = check({ data, lineOf }).slice(0, MAX_MISTAKES);
  if (parsed.success && more.length === 0) return { head: parsed.data, body, data, lineOf };
  const issues = (parsed.error?.issues ?? []).slice(0, MAX_MISTAKES).map((issue) => {
    const { path: keys, message } = wrongPlace(issue);
    const path = keys.map(String);
    return at(file, lineOf(path), `${path.join(".") || "front matter"}: ${message}`);
  });
  throw new BadFrontMatter([...issues, ...more]);

  /** The line of the deepest value on the path that exists. */
  function lineOf(wanted: readonly string[]): number {
    for (let length = wanted.length; length > 0; length--) {
      const node = document.getIn(wanted.slice(0, length), true);
      if (isNode(node) && node.range) return lineAt(node.range[0]);
    }
    return 1;
  }
}

/**
 * Other programs write descriptions as they come, with colons in them, which is no YAML. They are taken as text where the head cannot be
 * read otherwise.
 */
const LOOSE_TEXT = /^(description|display-name|argument-hint|applyTo):[ \t]+(?![|>"'[{&*!])(.+)$/gm;
/** A glob would be a reference to another value. */
const LOOSE_GLOBS = /^(applyTo):[ \t]+(\*[^#\n]*)(?:#.*)?$/gm;
/** Words for a person, in which brackets stand for what may be left out. As YAML they would be a list, or no YAML at all. */
const LOOSE_HINT = /^(argument-hint):[ \t]+(\[.*)$/gm;

function readYaml(written: string): { document: Document; lines: LineCounter } {
  const yaml = inQuotes(inQuotes(written, LOOSE_GLOBS), LOOSE_HINT);
  const asWritten = parsedYaml(yaml);
  if (asWritten.document.errors.length === 0) return asWritten;
  const quoted = parsedYaml(inQuotes(yaml, LOOSE_TEXT));
  return quoted.document.errors.length === 0 ? quoted : asWritten;
}

/** On the same lines, so that the lines of mistakes stay what they are. */
function inQuotes(yaml: string, loose: RegExp): string {
  return yaml.replaceAll(loose, (_, key, text) => `${key}: ${JSON.stringify(text.trim())}`);
}

function parsedYaml(yaml: string): { document: Document; lines: LineCounter } {
  const lines = new LineCounter();
  return { lines, document: parseDocument(yaml, { lineCounter: lines, prettyErrors: false, uniqueKeys: false }) };
}

function dataOf(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 20 }) ?? {};
  } catch (error) {
    throw complaint(file, 1, `the front matter cannot be used: ${messageOf(error)}`);
  }
}

function isTooDeep(yaml: string): boolean {
  const brackets = yaml.match(/[[{]/g)?.length ?? 0;
  if (brackets > MAX_BRACKETS) return true;
  const marksIn = (text = ""): number => text.match(/[-:](?=\s|$)/g)?.length ?? 0;
  return yaml
    .split(/[\r\n]/)
    .some((line) => marksIn(line) > MAX_MARKS || marksIn(LEADING_MARKS.exec(line)?.[0]) > MAX_LEADING_MARKS);
}

/** Where a key is that its map has already. The parser's own check compares each key with all others. */
function repeatedKey(document: Document): number | undefined {
  let found: number | undefined;
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) found ??= key.range?.[0] ?? 0;
        seen.add(key.value);
      }
      return found === undefined ? undefined : visit.BREAK;
    },
  });
  return found;
}

/** With one kind of line end, and without what an editor may have put before the first line. */
function plainOf(text: string): string {
  return text.replace(/^\uFEFF?\s*/, "").replaceAll(/\r\n?/g, "\n");
}

/** `before`: how many lines of the file are above the head, the fence included. */
function split(text: string, file: string): { yaml: string; body: string; before: number } {
  const plain = plainOf(text);
  const first = endOfLine(plain, 0);
  if (!isFence(plain.slice(0, first))) return { yaml: "", body: plain.trim(), before: 0 };
  const before = 1 + (/^\uFEFF?\s*/.exec(text)?.[0].match(/\r\n?|\n/g)?.length ?? 0);
  // Only as far as a head may reach: what follows is not looked at line by line.
  for (let from = first + 1; from <= first + 1 + MAX_HEAD_CHARACTERS && from <= plain.length; ) {
    const to = endOfLine(plain, from);
    if (isFence(plain.slice(from, to)))
      return { yaml: plain.slice(first + 1, Math.max(first + 1, from - 1)), body: plain.slice(to + 1).trim(), before };
    from = to + 1;
  }
  const isLong = plain.length - first > MAX_HEAD_CHARACTERS;
  throw complaint(file, 1, isLong ? TOO_LONG : "the front matter has no closing ---");
}

const TOO_LONG = `the front matter is longer than ${MAX_HEAD_CHARACTERS} characters`;

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

const isFence = (line: string): boolean => line.length <= MAX_HEAD_CHARACTERS && FENCE.test(line);

function complaint(file: string, line: number, problem: string): AppError {
  return new BadFrontMatter([at(file, line, problem)]);
}

const at = (file: string, line: number, problem: string): string => `${file}:${line}: ${problem}`;
