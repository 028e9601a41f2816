/**
 * The simple commands in a shell command line, also those inside substitutions, subshells and loops.
 *
 * Not a shell: what is not understood (case, functions, arithmetic with substitutions, a missing quote …) makes the result
 * incomplete, and whoever decides by it must then treat the line as one unknown command. Never throws.
 */
export interface ParsedLine {
  segments: Segment[];
  /** False: there is something in the line that these segments do not show. */
  isComplete: boolean;
  /** Some command runs with changed variables, so that its name may mean something else. */
  hasAssignments: boolean;
  redirections: Redirection[];
}

export interface Segment {
  /** Words as written, without redirections. */
  text: string;
  words: Word[];
  writesFile: boolean;
}

export interface Word {
  /** With quotes removed. */
  value: string;
  /** As written. */
  source: string;
  /** The shell puts something in: a variable, a substitution, braces, another user's home. */
  isDynamic: boolean;
}

export interface Redirection {
  target: Word;
  isWrite: boolean;
}

const MAX_LENGTH = 100_000;
const MAX_DEPTH = 40;

export function parseShellLine(line: string): ParsedLine {
  const result: ParsedLine = { segments: [], isComplete: true, hasAssignments: false, redirections: [] };
  if (line.length > MAX_LENGTH) return { ...result, isComplete: false };
  new Scanner(line, result, 0).list(undefined);
  return result;
}

const LEADING = new Set(["!", "{", "if", "then", "else", "elif", "while", "until", "do", "time"]);
const CLOSING = new Set(["fi", "done", "}"]);
const LOOPS = new Set(["for", "select"]);
const NOT_UNDERSTOOD = new Set(["case", "esac", "function", "coproc"]);
const ASSIGNMENT = /^[A-Za-z_]\w*(\[[^\]]*\])?\+?=/;
const NO_FILE = new Set(["/dev/null", "/dev/stdout", "/dev/stderr"]);
const WORD_END = new Set([" ", "\t", "\n", ";", "|", "&", "(", ")", "<", ">", ""]);

class Scanner {
  readonly #line: string;
  readonly #result: ParsedLine;
  readonly #depth: number;
  #at = 0;
  #words: Word[] = [];
  #writesFile = false;
  #heredocs: { delimiter: string; isQuoted: boolean }[] = [];

  constructor(line: string, result: ParsedLine, depth: number) {
    this.#line = line;
    this.#result = result;
    this.#depth = depth;
    if (depth > MAX_DEPTH) this.#giveUp();
  }

  /** Reads commands up to `closer` or the end; returns where it stopped. */
  list(closer: ")" | undefined, from = 0): number {
    this.#at = from;
    while (this.#at < this.#line.length) {
      const char = this.#peek();
      if (char === ")") {
        if (closer !== ")") this.#giveUp();
        this.#endSegment();
        return this.#at + 1;
      }
      this.#step(char);
    }
    this.#endSegment();
    if (closer !== undefined || this.#heredocs.length > 0) this.#giveUp();
    return this.#at;
  }

  #step(char: string): void {
    if (char === " " || char === "\t") this.#at++;
    else if (char === "\\" && this.#peek(1) === "\n") this.#at += 2;
    else if (char === "\n") this.#newLine();
    else if (char === "#") this.#skipTo("\n");
    else if (char === "(") this.#subshell();
    else if (this.#isRedirection()) this.#redirection();
    else if (char === ";" || char === "|" || char === "&") this.#separator();
    else this.#words.push(this.#word());
  }

  #giveUp(): void {
    this.#result.isComplete = false;
    this.#at = this.#line.length;
  }

  #peek(ahead = 0): string {
    return this.#line[this.#at + ahead] ?? "";
  }

  #skipTo(text: string): void {
    const found = this.#line.indexOf(text, this.#at);
    this.#at = found < 0 ? this.#line.length : found;
  }

  #separator(): void {
    if (this.#line.startsWith(";;", this.#at)) {
      this.#giveUp();
      return;
    }
    this.#endSegment();
    this.#at++;
  }

  #newLine(): void {
    this.#endSegment();
    this.#at++;
    for (const { delimiter, isQuoted } of this.#heredocs.splice(0)) this.#heredoc(delimiter, isQuoted);
  }

  #heredoc(delimiter: string, isQuoted: boolean): void {
    const start = this.#at;
    while (this.#at < this.#line.length) {
      const end = this.#line.indexOf("\n", this.#at);
      const row = this.#line.slice(this.#at, end < 0 ? undefined : end);
      const body = this.#line.slice(start, this.#at);
      this.#at = end < 0 ? this.#line.length : end + 1;
      if (row.replace(/^\t+/, "") !== delimiter) continue;
      if (!isQuoted && runsCommands(body)) this.#giveUp();
      return;
    }
    this.#giveUp();
  }

  #subshell(): void {
    if (this.#words.some((word) => !LEADING.has(word.source)) || this.#peek(1) === "(") {
      this.#giveUp();
      return;
    }
    this.#nested(this.#at + 1);
  }

  #nested(from: number): void {
    const inner = new Scanner(this.#line, this.#result, this.#depth + 1);
    this.#at = this.#result.isComplete ? inner.list(")", from) : this.#line.length;
  }

  #isRedirection(): boolean {
    if (this.#line.startsWith("&>", this.#at)) return true;
    const at = /^\d*[<>]/.exec(this.#line.slice(this.#at, this.#at + 12))?.[0].length ?? 0;
    return at > 0 && this.#line[this.#at + at] !== "(";
  }

  #redirection(): void {
    const operator = /^(?:\d*)(&>>|&>|<<<|<<-|<<|<>|<&|<|>>|>\||>&|>)/.exec(this.#line.slice(this.#at, this.#at + 16));
    this.#at += operator?.[0].length ?? 1;
    while (this.#peek() === " " || this.#peek() === "\t") this.#at++;
    if (WORD_END.has(this.#peek()) && !/^[<>]\(/.test(this.#line.slice(this.#at, this.#at + 2))) {
      this.#giveUp();
      return;
    }
    this.#redirect(operator?.[1] ?? "", this.#word());
  }

  #redirect(operator: string, target: Word): void {
    if (operator === "<<" || operator === "<<-") {
      this.#heredocs.push({ delimiter: target.value, isQuoted: target.value !== target.source });
      return;
    }
    const isCopy = operator.endsWith("&") && /^(\d+-?|-)$/.test(target.value);
    if (operator === "<<<" || isCopy || NO_FILE.has(target.value)) return;
    const isWrite = operator.includes(">");
    this.#result.redirections.push({ target, isWrite });
    this.#writesFile ||= isWrite;
  }

  #word(): Word {
    const start = this.#at;
    const word: Word = { value: "", source: "", isDynamic: false };
    while (this.#at < this.#line.length && !this.#isWordEnd()) this.#piece(word);
    word.source = this.#line.slice(start, this.#at);
    if (/^~[^/]/.test(word.source) || /^[^'"]*\{[^'"]*(,|\.\.)/.test(word.source)) word.isDynamic = true;
    return word;
  }

  #isWordEnd(): boolean {
    return WORD_END.has(this.#peek()) && !(/[<>]/.test(this.#peek()) && this.#peek(1) === "(");
  }

  #piece(word: Word): void {
    const char = this.#peek();
    if (char === "'") word.value += this.#singleQuoted();
    else if (char === '"') this.#doubleQuoted(word);
    else if (char === "\\") {
      if (this.#peek(1) !== "\n") word.value += this.#peek(1);
      this.#at += 2;
    } else if (char === "$" || char === "`") this.#expansion(word);
    else if (char === "<" || char === ">") {
      word.isDynamic = true;
      this.#nested(this.#at + 2);
    } else {
      word.value += char;
      this.#at++;
    }
  }

  #singleQuoted(): string {
    const end = this.#line.indexOf("'", this.#at + 1);
    if (end < 0) {
      this.#giveUp();
      return "";
    }
    const text = this.#line.slice(this.#at + 1, end);
    this.#at = end + 1;
    return text;
  }

  #doubleQuoted(word: Word): void {
    this.#at++;
    while (this.#peek() !== '"') {
      if (this.#at >= this.#line.length) {
        this.#giveUp();
        return;
      }
      const char = this.#peek();
      if (char === "$" || char === "`") this.#expansion(word);
      else if (char === "\\" && /[$`"\\\n]/.test(this.#peek(1))) {
        word.value += this.#peek(1);
        this.#at += 2;
      } else {
        word.value += char;
        this.#at++;
      }
    }
    this.#at++;
  }

  #expansion(word: Word): void {
    if (this.#peek() === "$" && !/[\w({$?!#@*'"-]/.test(this.#peek(1))) {
      word.value += "$";
      this.#at++;
      return;
    }
    word.isDynamic = true;
    if (this.#peek() === "`") this.#backticks();
    else if (this.#line.startsWith("$((", this.#at)) this.#bracketed("))");
    else if (this.#peek(1) === "(") this.#nested(this.#at + 2);
    else if (this.#peek(1) === "{") this.#bracketed("}");
    else if (this.#peek(1) === "'") this.#ansiQuoted();
    else this.#at += /^\$(\w+|.)/.exec(this.#line.slice(this.#at, this.#at + 200))?.[0].length ?? 1;
  }

  /** `${…}` and `$((…))`: of interest only when a command hides in them. */
  #bracketed(closer: string): void {
    const end = this.#line.indexOf(closer, this.#at);
    if (
      end < 0 ||
      runsCommands(this.#line.slice(this.#at + 2, end)) ||
      this.#line.slice(this.#at + 2, end).includes("${")
    ) {
      this.#giveUp();
      return;
    }
    this.#at = end + closer.length;
  }

  #ansiQuoted(): void {
    const quoted = /^\$'(?:[^'\\]|\\.)*'/s.exec(this.#line.slice(this.#at))?.[0];
    if (quoted === undefined) {
      this.#giveUp();
      return;
    }
    this.#at += quoted.length;
  }

  #backticks(): void {
    let end = this.#at + 1;
    while (end < this.#line.length && this.#line[end] !== "`") end += this.#line[end] === "\\" ? 2 : 1;
    if (end >= this.#line.length) {
      this.#giveUp();
      return;
    }
    const inner = this.#line.slice(this.#at + 1, end).replace(/\\([`\\$])/g, "$1");
    new Scanner(inner, this.#result, this.#depth + 1).list(undefined);
    this.#at = this.#result.isComplete ? end + 1 : this.#line.length;
  }

  #endSegment(): void {
    const words = this.#words.splice(0);
    const writesFile = this.#writesFile;
    this.#writesFile = false;
    while (LEADING.has(words[0]?.source ?? "") || CLOSING.has(words[0]?.source ?? "")) words.shift();
    if (LOOPS.has(words[0]?.source ?? "")) return;
    if (NOT_UNDERSTOOD.has(words[0]?.source ?? "")) {
      this.#giveUp();
      return;
    }
    while (ASSIGNMENT.test(words[0]?.source ?? "")) {
      this.#result.hasAssignments = true;
      words.shift();
    }
    if (words.length === 0) return;
    this.#result.segments.push({ text: words.map((word) => word.source).join(" "), words, writesFile });
  }
}

const runsCommands = (text: string) => text.includes("$(") || text.includes("`");
