/**
 * Command lines of an agent that may write in one folder only: what a line itself says must stay there.
 *
 * Everything is known, or it is refused: the line is plain, its redirections and every word that could be a path lead nowhere else, `cd` stays inside, and
 * git acts on its own worktree alone. Commands that only read may name any path; the ordinary rules decide about them. What a program does by itself
 * cannot be seen here.
 */
import { readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { commandOf, type ShellCommand } from "../shell-language/command.ts";
import { isGitReading } from "../shell-language/git-readers.ts";
import { readWritingLine } from "../shell-language/line.ts";
import { afterProgram, mayRunOthers, programOf, SHELLS } from "../shell-language/programs.ts";
import { isReadOnlyLine } from "../shell-language/read-only.ts";
import type { Word } from "../shell-language/word.ts";

export interface ConfinedPlace {
  workingDirectory: string;
  /** Whether something may be written at this absolute path, wherever links lead. */
  isOpen(path: string): boolean;
  /** Folders whose names must not even occur in a text, such as a program for an interpreter. */
  unspeakable: readonly string[];
  /** Folders that may, although they are in one of those. */
  speakable: readonly string[];
}

const MAX_DEPTH = 4;
const MAX_FOLDERS = 16;
const MAX_ENTRIES = 2000;
const names = (text: string): ReadonlySet<string> => new Set(text.split(" "));
/** After them, later words of the line mean something else. */
const CHANGE_MEANING = names(
  "eval source . trap alias unalias enable hash export declare typeset local readonly read mapfile readarray unset bind fc coproc pushd popd",
);
/** They act on the worktree that they run in, on its index and on its own HEAD. Branches, tags, the stash and the configuration are everybody's. */
const GIT_INSIDE = names(
  "status log diff show add rm mv commit restore reset blame annotate grep ls-files ls-tree rev-parse rev-list describe cat-file apply clean " +
    "check-ignore merge-base shortlog diff-tree diff-index diff-files name-rev cherry-pick revert version",
);
const STREAMS = /^\/dev\/(?:null|zero|u?random|stdin|stdout|stderr|tty|fd\/\d+)$/;

/** Why the line may write elsewhere; undefined when it says nothing of the kind. */
export function whyLineLeaves(text: string, place: ConfinedPlace): string | undefined {
  return new Line(place).why(text, MAX_DEPTH);
}

class Line {
  readonly #place: ConfinedPlace;
  /** Where its commands may run: `cd` adds one, and whether it succeeds is not known. */
  readonly #folders: string[];

  constructor(place: ConfinedPlace) {
    this.#place = place;
    this.#folders = [place.workingDirectory];
  }

  why(text: string, depth: number): string | undefined {
    const { commands, redirections, unclear } = readWritingLine(text);
    if (unclear !== undefined || commands.length === 0) return unclear ?? "no command was found in it";
    for (const command of commands) {
      const why = this.#command(command, depth);
      if (why !== undefined) return why;
    }
    const written = redirections.find(({ target, isWrite }) => isWrite && this.#leads(target));
    return written && `it writes to ${written.target}`;
  }

  #command(command: ShellCommand, depth: number): string | undefined {
    const program = programOf(command);
    const special = this.#special(command, depth);
    if (special !== undefined) return special;
    if (
      program !== "git" &&
      program !== "cd" &&
      isReadOnlyLine({ text: command.text, commands: [command], redirections: [] })
    )
      return undefined;
    const why = first(command.words.slice(1), (word) => this.#word(word));
    if (why !== undefined || !mayRunOthers(command)) return why;
    // Each argument may be the beginning of a command that runs.
    return first([...command.words.keys()].slice(1), (from) =>
      this.#special(commandOf(command.words.slice(from)), depth),
    );
  }

  /** What is not judged by its words alone. */
  #special(command: ShellCommand, depth: number): string | undefined {
    const program = programOf(command);
    if (CHANGE_MEANING.has(program)) return `'${program}' changes what the rest of the line means`;
    if (program === "cd") return this.#cd(command);
    if (program === "git") return whyGitLeaves(command);
    if (SHELLS.has(program)) return this.#shell(command, depth);
    return undefined;
  }

  #cd({ words: [, ...args] }: ShellCommand): string | undefined {
    const [folder, ...more] = args.filter(({ value }) => !/^-[LPe@]*$|^--$/.test(value) || value === "-");
    if (!folder?.isLiteral || more.length > 0 || folder.value === "-") return "'cd' does not name one folder";
    if (this.#leads(folder.value)) return `it goes to ${folder.value}`;
    this.#folders.push(...this.#folders.map((from) => resolve(from, folder.value)));
    return this.#folders.length > MAX_FOLDERS ? "it changes the folder too often" : undefined;
  }

  #shell({ words: [name, ...args] }: ShellCommand, depth: number): string | undefined {
    const [option, text] = args;
    if (option?.isLiteral && !option.value.startsWith("-")) return undefined; // A script is a program like any other.
    if (!option || !/^-[elx]*c$/.test(option.value) || !text?.isLiteral)
      return `'${name?.value}' runs what it reads elsewhere`;
    return depth === 0 ? "it is nested too deeply" : this.why(text.value, depth - 1);
  }

  #word(word: Word): string | undefined {
    const { value, source } = word;
    if (word.hasVariable) return `it has a variable: ${source}`;
    if (/^GIT_\w*=/.test(value)) return "it sets a variable of git";
    if (source.startsWith("~")) return `it names ${source}`;
    if (!word.isLiteral) return this.#pattern(word);
    if (this.#isSpoken(value)) return `it names ${value}`;
    const isText = /[\s;(){}'"]/.test(value) && !/^(?:\/|~|\.\.?\/)/.test(value);
    return !isText && pathsIn(value).some((path) => this.#leads(path)) ? `it names ${value}` : undefined;
  }

  /** In its last name only, and beside no link that leads out. */
  #pattern({ value, source }: Word): string | undefined {
    const magic = value.search(/[*?[]/);
    if (magic < 0 || value.includes("/", magic)) return `it has a pattern that cannot be followed: ${source}`;
    const folder = dirname(`${value.slice(0, magic)}x`);
    const isOut = this.#folders.some(
      (from) => !this.#place.isOpen(resolve(from, folder)) || hasLinkOut(resolve(from, folder), this.#place),
    );
    return isOut ? `it names ${source}` : undefined;
  }

  #leads(path: string): boolean {
    if (STREAMS.test(path)) return false;
    return path.startsWith("~") || this.#folders.some((from) => !this.#place.isOpen(resolve(from, path)));
  }

  #isSpoken(text: string): boolean {
    const { unspeakable, speakable } = this.#place;
    const rest = speakable.reduce((left, folder) => left.replaceAll(folder, ""), text);
    return (
      unspeakable.some((folder) => rest.includes(folder)) || (/\s|\(/.test(text) && /(?:^|[^\w.])\.\.\//.test(text))
    );
  }
}

function first<T>(items: readonly T[], why: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = why(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function whyGitLeaves(command: ShellCommand): string | undefined {
  const [subcommand, ...args] = afterProgram(command);
  if (!subcommand?.isLiteral) return "it is not clear what git does";
  const { value } = subcommand;
  if (value.startsWith("-")) return `'git ${value}' may act on another repository`;
  if (args.some((arg) => arg.value === "--unsafe-paths" || arg.value === "--no-index"))
    return `'git ${value}' may write anywhere`;
  const isOfFiles =
    value === "checkout" &&
    args.findIndex((arg) => arg.value === "--") < args.length - 1 &&
    args.some((arg) => arg.value === "--");
  if (GIT_INSIDE.has(value) || isOfFiles || isGitReading(command)) return undefined;
  return `'git ${value}' may change what the worktree shares with others`;
}

/** Paths that a word may hold: all of it, the value of an option, or parts of a list. */
function pathsIn(word: string): string[] {
  if (/^file:/i.test(word)) return [URL.canParse(word) && !new URL(word).host ? fileURLToPath(word) : "/"];
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(word)) return [];
  const [, value] = /^[^=]*=(.*)$/s.exec(word) ?? [];
  const short = /^-[a-zA-Z](.+)$/s.exec(word)?.[1];
  const parts = word.includes("=") || !/[:,]/.test(word) ? [] : word.split(/[:,]/).filter(Boolean);
  return [word, ...(value === undefined ? [] : pathsIn(value)), ...(short === undefined ? [] : [short]), ...parts];
}

function hasLinkOut(folder: string, { isOpen }: ConfinedPlace): boolean {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return (
      entries.length > MAX_ENTRIES ||
      entries.some((entry) => entry.isSymbolicLink() && !isOpen(join(folder, entry.name)))
    );
  } catch {
    return false; // There is no such folder, so the pattern matches nothing.
  }
}
