/**
 * One word of a command line as the shell reads it: its value when that is certain, and what it may become.
 *
 * The parser says where a word is. This reads it a second time, character by character, and accepts only what it knows: plain characters,
 * quotes, escapes, plain variables and patterns of file names. So a word counts only when both agree on it.
 */
export interface Word {
  /** As written. */
  source: string;
  /** With quotes removed; variables and patterns are left as they are written. */
  value: string;
  /** The value is exactly what the program gets. */
  isLiteral: boolean;
  /** A variable is put in. */
  hasVariable: boolean;
  /** The shell may turn it into an argument that begins with a dash, or into several arguments. */
  mayBeOption: boolean;
}

const PLAIN = /[\p{L}\p{N}\p{M}_@%+=:,./^!#-]/u;
const OTHER_TEXT = /[^\p{C}\p{Z}!-~]/u;
const PATTERN = new Set(["*", "?", "[", "]"]);
const VARIABLE = /^\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|[0-9?#@*$!-])/;
/** What a dollar before these means is more than a variable: a substitution, arithmetic, another kind of quotes. */
const STARTS_EXPANSION = /^\$[({['"\\`]/;

/** Undefined when it is anything but the plain word described above. */
export function readWord(source: string): Word | undefined {
  const reader = new WordReader(source);
  return reader.read() ? reader.word : undefined;
}

class WordReader {
  readonly word: Word;
  #at = 0;

  constructor(source: string) {
    this.word = { source, value: "", isLiteral: true, hasVariable: false, mayBeOption: false };
  }

  read(): boolean {
    const { source } = this.word;
    if (source === "" || source.startsWith("#") || hasBraceExpansion(source)) return false;
    if (source.startsWith("~")) {
      if (!/^~(\/|$)/.test(source)) return false;
      this.word.isLiteral = false;
    }
    if (/[=:]~/.test(source)) this.word.isLiteral = false;
    while (this.#at < source.length) if (!this.#piece()) return false;
    return true;
  }

  get #rest(): string {
    return this.word.source.slice(this.#at);
  }

  #take(value: string, length = value.length): true {
    this.word.value += value;
    this.#at += length;
    return true;
  }

  #piece(): boolean {
    const char = String.fromCodePoint(this.word.source.codePointAt(this.#at) ?? 0);
    if (char === "'") return this.#singleQuoted();
    if (char === '"') return this.#doubleQuoted();
    if (char === "\\") return this.#escaped();
    if (char === "$") return this.#dollar({ isQuoted: false });
    if (PATTERN.has(char)) {
      this.word.isLiteral = false;
      this.word.mayBeOption ||= this.word.value === "" || this.word.value.startsWith("-");
      return this.#take(char);
    }
    if (char === "~" || char === "{" || char === "}" || PLAIN.test(char) || OTHER_TEXT.test(char))
      return this.#take(char);
    return false;
  }

  #singleQuoted(): boolean {
    const end = this.word.source.indexOf("'", this.#at + 1);
    if (end < 0) return false;
    return this.#take(this.word.source.slice(this.#at + 1, end), end + 1 - this.#at);
  }

  #escaped(): boolean {
    const next = this.#rest.slice(1, 2);
    return next !== "" && next !== "\n" && this.#take(next, 2);
  }

  #doubleQuoted(): boolean {
    this.#at++;
    for (;;) {
      const char = this.#rest.slice(0, 1);
      if (char === '"') return this.#take("", 1);
      if (char === "" || char === "`") return false;
      if (char === "\\") {
        const next = this.#rest.slice(1, 2);
        if (next === "" || next === "\n") return false;
        this.#take(/[$`"\\]/.test(next) ? next : `\\${next}`, 2);
      } else if (char === "$") {
        if (!this.#dollar({ isQuoted: true })) return false;
      } else this.#take(char);
    }
  }

  #dollar({ isQuoted }: { isQuoted: boolean }): boolean {
    const rest = this.#rest;
    const variable = VARIABLE.exec(rest)?.[0];
    if (variable === undefined) {
      // A dollar that stands for itself, as in "5$ each" or at the end of a quoted pattern.
      const standsAlone = isQuoted ? rest.startsWith('$"') || /^\$[ .,;:)|/]/.test(rest) : rest === "$";
      return standsAlone && (isQuoted || !STARTS_EXPANSION.test(rest)) && this.#take("$");
    }
    this.word.isLiteral = false;
    this.word.hasVariable = true;
    this.word.mayBeOption ||= !isQuoted || this.word.value === "" || this.word.value.startsWith("-");
    // "$@" is several words even in quotes.
    this.word.mayBeOption ||= /^\$[@*]/.test(variable);
    return this.#take(variable);
  }
}

/** `{a,b}` and `{1..3}` become several words. */
function hasBraceExpansion(source: string): boolean {
  const isQuotedWhole = /^'[^']*'$/.test(source) || /^"[^"]*"$/.test(source);
  const rest = source.replaceAll(/\$\{\w+\}/g, "");
  return !isQuotedWhole && rest.includes("{") && /,|\.\./.test(rest);
}
