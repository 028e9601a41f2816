/**
 * Programs that only read, as data: which options of each are known to change nothing, and which of its words are paths.
 *
 * Narrower than read-only.ts, which says what plan mode may run when a person has allowed it. A line of these runs without anybody being asked, so
 * what is not listed here, word for word, is not known.
 */
import type { ShellCommand } from "./command.ts";
import { mayRunOthers, nameOf } from "./programs.ts";
import type { Word } from "./word.ts";

interface Reader {
  /** Short options without a value. */
  letters?: string;
  /** Short options with a value. */
  valued?: string;
  /** Long options; with `=` at the end, when they have a value. */
  long?: string;
  /** `-20` is a number of lines. */
  hasNumber?: boolean;
  /** What the other words are. `pattern`: paths, after a pattern. */
  operands: "paths" | "pattern" | "text" | "none";
  maxOperands?: number;
}

const LINES: Reader = { letters: "qv", valued: "nc", long: "lines= bytes= quiet", hasNumber: true, operands: "paths" };
const GREP: Reader = {
  letters: "inrlLcvwxohHEFPsqIa",
  valued: "ABCme",
  long: "include= exclude= exclude-dir= color color= line-number ignore-case recursive count files-with-matches fixed-strings extended-regexp",
  operands: "pattern",
};
const WORDS: Reader = { operands: "text" };
const ALONE: Reader = { operands: "none" };

const READERS: Readonly<Record<string, Reader>> = {
  ls: {
    letters: "aAlhR1trSFdpisnogcuUXCmxkG",
    long: "all almost-all color color= human-readable recursive reverse directory classify",
    operands: "paths",
  },
  cat: { letters: "nbsAETvet", operands: "paths" },
  head: LINES,
  tail: LINES,
  wc: { letters: "lwcmL", long: "lines words bytes chars", operands: "paths" },
  nl: { operands: "paths" },
  tac: { operands: "paths" },
  rev: { operands: "paths" },
  stat: { letters: "t", valued: "c", operands: "paths" },
  du: { letters: "shackbm", valued: "d", long: "max-depth= summarize human-readable", operands: "paths" },
  file: { letters: "bi", long: "brief mime mime-type", operands: "paths" },
  realpath: { operands: "paths" },
  cmp: { letters: "ls", operands: "paths", maxOperands: 2 },
  md5sum: { operands: "paths" },
  sha1sum: { operands: "paths" },
  sha256sum: { operands: "paths" },
  sort: { letters: "rnufVhMbdgs", valued: "kt", long: "reverse numeric-sort unique", operands: "paths" },
  uniq: { letters: "cdui", valued: "fsw", operands: "paths", maxOperands: 1 },
  cut: { letters: "s", valued: "dfcb", operands: "paths" },
  tree: { letters: "adfhCpsDFtr", valued: "LIP", operands: "paths" },
  grep: GREP,
  egrep: GREP,
  fgrep: GREP,
  rg: {
    letters: "inlcvwoFSsNH",
    valued: "ABCmegtT",
    long: "files hidden no-heading line-number glob= type= ignore-case fixed-strings files-with-matches count sort=",
    operands: "pattern",
  },
  echo: { letters: "neE", operands: "text" },
  tr: { letters: "dscC", operands: "text" },
  basename: WORDS,
  dirname: WORDS,
  which: { letters: "a", operands: "text" },
  uname: { letters: "asnrvmpio", operands: "none" },
  pwd: { letters: "LP", operands: "none" },
  whoami: ALONE,
  nproc: ALONE,
  date: ALONE,
  true: ALONE,
  false: ALONE,
};

/** Commands of the shell itself: no file can take their place. */
export const BUILTINS: ReadonlySet<string> = new Set("echo pwd true false".split(" "));

/** The words that are paths; undefined when it is not known that the command only reads. */
export function readPaths(command: ShellCommand): readonly Word[] | undefined {
  const name = nameOf(command);
  const args = command.words.slice(1);
  if (mayRunOthers(command) && !args.some(isPattern)) return undefined;
  if (name === "find") return pathsOfFind(args);
  if (name === "sed") return pathsOfSed(args);
  const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
  return reader && pathsOf(args, reader);
}

/** A pattern of file names, and nothing else that the shell replaces. */
export const isPattern = ({ isLiteral, hasVariable, source }: Word): boolean =>
  !isLiteral && !hasVariable && !source.includes("~");

function pathsOf(args: readonly Word[], reader: Reader): readonly Word[] | undefined {
  const { letters = "", valued = "", long = "", operands, maxOperands = Number.POSITIVE_INFINITY } = reader;
  const longs = long.split(" ").filter(Boolean);
  const found: Word[] = [];
  let hasPattern = false;
  for (let at = 0; at < args.length; at++) {
    const word = args[at];
    if (!word || (!word.isLiteral && !isPattern(word))) return undefined;
    const { value } = word;
    if (!value.startsWith("-") || value === "-") {
      found.push(word);
      continue;
    }
    // A pattern in the value of a long option can become nothing else than this option.
    if (!word.isLiteral && !/^--[a-z-]+=/.test(value)) return undefined;
    if (value === "--") {
      const rest = args.slice(at + 1);
      if (!rest.every((each) => each.isLiteral || isPattern(each))) return undefined;
      found.push(...rest);
      break;
    }
    if (reader.hasNumber && /^-\d+$/.test(value)) continue;
    if (value.startsWith("--")) {
      if (!longs.includes(value.slice(2).replace(/=.*$/s, "="))) return undefined;
      if (value === "--files") hasPattern = true; // Names of files are listed, and nothing is looked for in them.
      continue;
    }
    const cluster = clusterOf(value.slice(1), { letters, valued });
    if (!cluster) return undefined;
    if (cluster.letter === "e") hasPattern = true;
    if (cluster.takesNext && !args[++at]?.isLiteral) return undefined;
  }
  return operandPaths(found, { operands, hasPattern, maxOperands });
}

interface Cluster {
  /** The option with a value at its end. */
  letter?: string;
  /** Its value is the next word. */
  takesNext?: boolean;
}

function clusterOf(text: string, { letters, valued }: { letters: string; valued: string }): Cluster | undefined {
  for (let at = 0; at < text.length; at++) {
    const letter = text.charAt(at);
    if (valued.includes(letter)) return { letter, takesNext: at === text.length - 1 };
    if (!letters.includes(letter)) return undefined;
  }
  return {};
}

function operandPaths(
  found: readonly Word[],
  { operands, hasPattern, maxOperands }: { operands: Reader["operands"]; hasPattern: boolean; maxOperands: number },
): readonly Word[] | undefined {
  // A pattern may become more words than there are allowed, and the last one may be a file to write.
  if (
    found.length > maxOperands ||
    (maxOperands < Number.POSITIVE_INFINITY && !found.every(({ isLiteral }) => isLiteral))
  )
    return undefined;
  if (operands === "none") return found.length === 0 ? [] : undefined;
  if (operands === "text") return found.every(({ isLiteral }) => isLiteral) ? [] : undefined;
  if (operands === "paths" || hasPattern) return found;
  const [pattern, ...paths] = found;
  return pattern?.isLiteral ? paths : undefined;
}

const TESTS: ReadonlySet<string> = new Set(
  "-name -iname -path -ipath -type -maxdepth -mindepth -size -mtime -mmin -regex -iregex".split(" "),
);
const ALONE_IN_FIND: ReadonlySet<string> = new Set("-empty -print -print0 -o -or -a -and -not -prune ! ( )".split(" "));

/** Paths first, then an expression of tests that are known. */
function pathsOfFind(args: readonly Word[]): readonly Word[] | undefined {
  const start = args.findIndex(({ value }) => /^[-(!]/.test(value));
  const paths = start < 0 ? args : args.slice(0, start);
  const rest = start < 0 ? [] : args.slice(start);
  if (!args.every(({ isLiteral }) => isLiteral)) return undefined;
  for (let at = 0; at < rest.length; at++) {
    const value = rest[at]?.value ?? "";
    if (TESTS.has(value)) at++;
    else if (!ALONE_IN_FIND.has(value)) return undefined;
  }
  return paths;
}

/** `sed -n 10,20p file`: nothing but printing lines. */
function pathsOfSed(args: readonly Word[]): readonly Word[] | undefined {
  const [option, script, ...paths] = args;
  const isPlain = option?.source === "-n" && script?.isLiteral && /^\d+(,(\d+|\$))?p$/.test(script.value);
  return isPlain && paths.every((word) => word.isLiteral && !word.value.startsWith("-")) ? paths : undefined;
}
