/** Calls of git that only read, as data: subcommands, and the options of each that are known to change nothing and to run nothing. */
import type { ShellCommand } from "./command.ts";
import { afterProgram } from "./programs.ts";
import type { Word } from "./word.ts";

const COMMITS =
  "--oneline --stat --shortstat --numstat --name-only --name-status --graph --all --decorate --no-decorate --reverse --no-merges --merges --follow " +
  "--first-parent --patch --no-patch --abbrev-commit --no-color --color --summary --cached --staged --word-diff --minimal --no-renames --quiet --full-index " +
  "--branches --tags --remotes --cherry-pick --left-right --no-ext-diff --no-textconv --raw -p -s -u -w -b -z -q";
const COMMITS_VALUED =
  /^(--(max-count|skip|since|until|after|before|author|grep|date|unified|diff-filter|abbrev|color)=.*|-\d+|-U\d+|-n\d+)$/s;
/** A format must not ask for a signature, which runs another program. */
const FORMAT = /^--(pretty|format)=(?!.*%G)(?!.*%\().*$/s;

interface GitReader {
  options: string;
  valued?: RegExp;
  /** Any other word makes it write. */
  hasNoOperands?: boolean;
}

const READERS: Readonly<Record<string, GitReader>> = {
  status: {
    options:
      "-s -b -u -uno -uall -z --short --branch --porcelain --porcelain=v1 --porcelain=v2 --long --ignored --no-renames --show-stash",
  },
  log: { options: COMMITS, valued: COMMITS_VALUED },
  diff: { options: COMMITS, valued: COMMITS_VALUED },
  show: { options: COMMITS, valued: COMMITS_VALUED },
  shortlog: { options: "-s -n -e -sn -sne --summary --numbered --email --all" },
  blame: { options: "-w -e -s -l", valued: /^-L\d+,[+-]?\d+$/ },
  "rev-parse": {
    options: "--abbrev-ref --short --show-toplevel --is-inside-work-tree --show-prefix --git-dir --verify --quiet -q",
  },
  "ls-files": { options: "-c -m -o -d -s -z --cached --modified --others --deleted --exclude-standard --stage" },
  "ls-tree": { options: "-r -d -t -l --name-only --full-name --full-tree" },
  describe: { options: "--tags --always --all --long --dirty" },
  branch: {
    options: "-a -r -v -vv -av --all --remotes --list --show-current --verbose --no-color",
    hasNoOperands: true,
  },
  remote: { options: "-v --verbose", hasNoOperands: true },
  tag: { options: "-l --list", hasNoOperands: true },
};

/** The subcommand is known to read with these words. Which repository it reads, and what its configuration runs, is not looked at here. */
export function isGitReading(command: ShellCommand): boolean {
  const [subcommand, ...args] = afterProgram(command);
  const name = subcommand?.isLiteral ? subcommand.value : "";
  const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
  return reader !== undefined && args.every((arg) => isKnown(arg, reader));
}

function isKnown({ value, isLiteral }: Word, { options, valued, hasNoOperands = false }: GitReader): boolean {
  if (!isLiteral) return false;
  if (value === "--") return !hasNoOperands;
  if (value.startsWith("-"))
    return options.split(" ").includes(value) || valued?.test(value) === true || isFormat(value, options);
  return !hasNoOperands && !leadsOut(value);
}

const isFormat = (value: string, options: string): boolean => options === COMMITS && FORMAT.test(value);

/** With a path outside the repository, `git diff` compares any two files. `main..topic` is no such path. */
function leadsOut(value: string): boolean {
  return (
    value.startsWith("/") ||
    value.startsWith("~") ||
    value.startsWith(":") ||
    value.split("/").includes("..") ||
    value.includes("\\")
  );
}
