/**
 * What a command line runs, when that is plain.
 *
 * A line is plain when every part of it is one that this file knows, nothing stands between the parts but blanks, and each word reads the
 * same to the parser and to word.ts. Anything else (assignments, redirections that write, substitutions, here-documents, arithmetic, `case`, arrays,
 * functions, …) makes it unclear, with a reason for people. The commands of an unclear line are only those that could be found.
 */
import type { Node } from "web-tree-sitter";
import { commandOf, type Redirection, type ShellCommand } from "./command.ts";
import { isLoaded, noTree, withTree } from "./grammar.ts";
import { findCommands } from "./search.ts";
import { readWord, type Word } from "./word.ts";

export interface ShellLine {
  text: string;
  commands: readonly ShellCommand[];
  redirections: readonly Redirection[];
  /** Why it is not certain what the line runs; undefined when it is plain. */
  unclear?: string;
}

const MAX_DEPTH = 30;
const MAX_KEPT = 256;
const kept = new Map<string, ShellLine>();

/** Needs the grammar (`loadGrammar`); without it every line is unclear. */
export function readLine(text: string): ShellLine {
  const known = kept.get(text);
  if (known) return known;
  if (!isLoaded()) return noLine(text); // Not kept: it may be loaded later.
  const line = withTree(text, (root) => readRoot(text, root)) ?? noLine(text);
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(text, line);
  return line;
}

/** The same for whoever looks at the targets: a line that writes to files which it names is plain too. */
export function readWritingLine(text: string): ShellLine {
  const line = readLine(text);
  if (line.unclear !== WRITES) return line;
  return withTree(text, (root) => readRoot(text, root, { acceptsWrites: true })) ?? noLine(text);
}

const WRITES = "it writes to a file";

const noLine = (text: string): ShellLine => ({ text, commands: [], redirections: [], unclear: noTree(text) });

function readRoot(text: string, root: Node, { acceptsWrites = false } = {}): ShellLine {
  try {
    const reader = new PlainReader(text, acceptsWrites);
    reader.whole(root);
    return { text, commands: reader.commands, redirections: reader.redirections };
  } catch (error) {
    if (!(error instanceof Unclear)) throw error;
    return { text, ...findCommands(root), unclear: error.message };
  }
}

class Unclear extends Error {}

/** Invisible characters could make a line look different from what it does. */
const ODD_CHARACTER = /[^\P{C}\n\t]|[^\P{Z} ]/u;
const BLANKS = /^(?:[ \t]|\\\n)*$/;
const BLANK = /[ \t]/;
const SPACE = /^(?:[ \t\n]|\\\n)*$/;
const LOOP_VARIABLE = /^[a-z][a-z0-9]{0,11}$/;
/** `2>&1`, `>/dev/null`, `< file`. */
const TO_STREAM = /^[012]?>&[ \t]*[012]$/;
const TO_NOWHERE = /^(?:[012]?>>?|&>>?)[ \t]*\/dev\/null$/;
const TO_FILE = /^(?:[012]?(?:>>?|>\|)|&>>?)[ \t]*([^<>&|\s].*)$/s;
const FROM_FILE = /^0?<[ \t]*([^<>&\s].*)$/s;

/** Nodes that hold commands, and the tokens that may stand between them. */
const STRUCTURES: Readonly<Record<string, ReadonlySet<string>>> = {
  program: new Set([";", "&"]),
  list: new Set(["&&", "||", ";", "&"]),
  pipeline: new Set(["|"]),
  negated_command: new Set(["!"]),
  subshell: new Set(["(", ")", ";", "&"]),
  compound_statement: new Set(["{", "}", ";", "&"]),
  if_statement: new Set(["if", "then", "fi", ";", "&"]),
  elif_clause: new Set(["elif", "then", ";", "&"]),
  else_clause: new Set(["else", ";", "&"]),
  while_statement: new Set(["while", "until", ";", "&"]),
  do_group: new Set(["do", "done", ";", "&"]),
};
const REASONS: Readonly<Record<string, string>> = {
  command_substitution: "it runs a command inside another one",
  process_substitution: "it runs a command inside another one",
  variable_assignment: "it sets a variable",
  variable_assignments: "it sets a variable",
  declaration_command: "it sets a variable",
  heredoc_redirect: "it has a here-document",
  herestring_redirect: "it has a here-document",
  function_definition: "it defines a function",
  case_statement: "it has a case",
  ERROR: "it is not valid",
};
const unclear = (node: Node) => new Unclear(REASONS[node.type] ?? "part of it is not a plain command");

class PlainReader {
  readonly commands: ShellCommand[] = [];
  readonly redirections: Redirection[] = [];
  readonly #text: string;
  readonly #acceptsWrites: boolean;
  #depth = 0;

  constructor(text: string, acceptsWrites: boolean) {
    this.#text = text;
    this.#acceptsWrites = acceptsWrites;
  }

  whole(root: Node): void {
    if (ODD_CHARACTER.test(this.#text)) throw new Unclear("it has invisible characters");
    if (root.hasError) throw new Unclear("it is not valid");
    if (!SPACE.test(this.#text.slice(0, root.startIndex)) || !SPACE.test(this.#text.slice(root.endIndex)))
      throw new Unclear("part of it was not understood");
    this.#statement(root);
  }

  #statement(node: Node): void {
    if (++this.#depth > MAX_DEPTH) throw new Unclear("it is nested too deeply");
    if (node.type === "command") this.#command(node);
    else if (node.type === "redirected_statement") this.#redirected(node);
    else if (node.type === "test_command") this.#test(node);
    else if (node.type === "for_statement") this.#loop(node);
    else this.#structure(node);
    this.#depth--;
  }

  #structure(node: Node): void {
    const tokens = Object.hasOwn(STRUCTURES, node.type) ? STRUCTURES[node.type] : undefined;
    if (!tokens) throw unclear(node);
    let before: Node | undefined;
    let end = node.startIndex;
    for (const child of node.children) {
      this.#between(before, child, this.#text.slice(end, child.startIndex));
      if (child.isNamed) {
        if (child.type !== "comment") this.#statement(child);
      } else if (child.isMissing || !tokens.has(child.type) || !this.#isWhole(child)) throw unclear(child);
      before = child;
      end = child.endIndex;
    }
    if (!SPACE.test(this.#text.slice(end, node.endIndex))) throw new Unclear("part of it was not understood");
  }

  /** A word of the language counts only when it stands alone: `{}` and `!ls` are names of commands. */
  #isWhole({ type, startIndex, endIndex }: Node): boolean {
    if (!RESERVED.has(type)) return true;
    const isApart = (char: string) => char === "" || /[\s;&|()]/.test(char);
    return isApart(this.#text.charAt(startIndex - 1)) && isApart(this.#text.charAt(endIndex));
  }

  /** Two statements need a separator between them, and a comment begins after a blank and ends with its line. */
  #between(before: Node | undefined, after: Node, gap: string): void {
    const isFine =
      SPACE.test(gap) &&
      (after.type !== "comment" || after.startIndex === 0 || /\s/.test(this.#text[after.startIndex - 1] ?? "")) &&
      (before?.type !== "comment" || gap.startsWith("\n")) &&
      (!before?.isNamed || !after.isNamed || after.type === "comment" || isKnownPair(before, after, gap));
    if (!isFine) throw new Unclear("part of it was not understood");
  }

  #command(node: Node): void {
    const words = node.children.filter((child) => child.type !== "file_redirect");
    for (const child of node.children) if (child.type === "file_redirect") this.#redirection(child);
    this.#apart(node.children);
    if (words[0]?.type !== "command_name") throw unclear(words[0] ?? node);
    this.#add(words.map((child) => this.#word(child)));
  }

  /** Words need blanks between them: `a$"b"` is one word to the shell. */
  #apart(nodes: readonly Node[]): void {
    nodes.forEach((node, index) => {
      const next = nodes[index + 1];
      if (!next) return;
      const gap = this.#text.slice(node.endIndex, next.startIndex);
      if (!BLANKS.test(gap) || !BLANK.test(gap)) throw new Unclear("part of it was not understood");
    });
  }

  #word(node: Node): Word {
    const word = readWord(this.#text.slice(node.startIndex, node.endIndex));
    if (!word) throw reasonWithin(node);
    return word;
  }

  #add(words: readonly Word[]): void {
    const [name] = words;
    if (!name?.isLiteral) throw new Unclear("the name of a command is computed");
    if (RESERVED.has(name.value) || name.value === "" || name.value.includes("="))
      throw new Unclear(`'${name.value}' is not a plain command`);
    this.commands.push(commandOf(words));
  }

  #redirected(node: Node): void {
    const [body, ...redirections] = node.children;
    if (!body || redirections.length === 0) throw unclear(node);
    this.#apart(node.children);
    this.#statement(body);
    for (const each of redirections) this.#redirection(each);
  }

  #redirection(node: Node): void {
    if (node.type !== "file_redirect") throw unclear(node);
    const source = this.#text.slice(node.startIndex, node.endIndex);
    if (TO_STREAM.test(source) || TO_NOWHERE.test(source)) return;
    if (this.#acceptsWrites && this.#written(source)) return;
    const file = FROM_FILE.exec(source)?.[1];
    const word = file === undefined ? undefined : readWord(file);
    if (!word) throw new Unclear(WRITES);
    if (/^\/dev\/(?:tcp|udp)\//.test(word.value) || word.hasVariable)
      throw new Unclear("it reads from a computed place");
    this.redirections.push({ target: word.value, isWrite: false });
  }

  #written(source: string): boolean {
    const file = TO_FILE.exec(source)?.[1];
    const word = file === undefined ? undefined : readWord(file);
    if (!word?.isLiteral) return false;
    this.redirections.push({ target: word.value, isWrite: true });
    return true;
  }

  /** `[ … ]` is the command `[` with words like any other; the parser has a grammar of its own for it, so it is read again as `test …`. */
  #test(node: Node): void {
    const source = this.#text.slice(node.startIndex, node.endIndex);
    const inner = /^\[([ \t].*[ \t])\]$/s.exec(source)?.[1];
    if (inner === undefined) throw unclear(node);
    const line = withTree(`test${inner}`, (root) => readRoot(`test${inner}`, root));
    const [command, ...others] = line?.commands ?? [];
    if (!command || others.length > 0 || line?.unclear !== undefined || line?.redirections.length !== 0)
      throw unclear(node);
    this.commands.push({ text: source, words: command.words });
  }

  /** The variable of a loop must be one that no program looks at. */
  #loop(node: Node): void {
    const [first, variable, word, ...rest] = node.children;
    const isKnown = first?.type === "for" && word?.type === "in" && LOOP_VARIABLE.test(variable?.text ?? "");
    const body = rest.at(-1);
    if (!isKnown || body?.type !== "do_group") throw unclear(node);
    const values = rest.slice(0, -1).filter((child) => child.isNamed);
    const tokens = rest.filter((child) => !child.isNamed);
    if (tokens.some((child) => child.type !== ";") || tokens.length > 1) throw unclear(node);
    this.#apart([first, ...(variable ? [variable] : []), word, ...values]);
    const last = values.at(-1) ?? word;
    const tail = this.#text.slice(last.endIndex, body.startIndex);
    if (!/^[ \t]*[;\n]\s*$/.test(tail)) throw unclear(node);
    for (const value of values) this.#word(value);
    this.#statement(body);
  }
}

/** Adjacent without a token: on lines of their own, or the parts of an `if` and a loop, whose own words separate them. */
function isKnownPair(_before: Node, after: Node, gap: string): boolean {
  if (after.type === "do_group" || after.type === "elif_clause" || after.type === "else_clause") return true;
  return /^(?:[ \t]|\\\n)*\n/.test(gap);
}

function reasonWithin(node: Node): Unclear {
  const type = Object.keys(REASONS).find((each) => node.type === each || node.descendantsOfType(each).length > 0);
  return new Unclear(type === undefined ? "it has an expansion that is not a plain variable" : (REASONS[type] ?? ""));
}

/** Words of the language, some of which the parser takes for the names of commands. */
const RESERVED = new Set(
  "! { } [[ ]] case coproc do done elif else esac fi for function if in select then time until while [".split(" "),
);
