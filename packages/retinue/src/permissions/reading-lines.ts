/**
 * Command lines that run without asking where reads are approved: each command only reads, and each of its paths is in the folders.
 *
 * Everything is known, or it is asked about: the line is plain, programs and options are on a list (shell-language/readers.ts), no word is computed, no path
 * leads out or is denied, no file in the folders can stand in for a program, and the repository makes git run nothing.
 */
import { existsSync, readdirSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { isWithin, realPath } from "../real-path.ts";
import type { ShellCommand } from "../shell-language/command.ts";
import { isGitReading } from "../shell-language/git-readers.ts";
import type { ShellLine } from "../shell-language/line.ts";
import { nameOf } from "../shell-language/programs.ts";
import { BUILTINS, isPattern, readPaths } from "../shell-language/readers.ts";
import type { Word } from "../shell-language/word.ts";
import { isPlainRepository } from "./git-repository.ts";

export interface ReadingPlace {
  /** Where the line runs. */
  workingDirectory: string;
  /** Folders in which reads are approved, with links resolved. */
  directories: readonly string[];
  /** Paths that must not be read. */
  unreadable: readonly string[];
  /** Where programs are looked for. */
  searchPath: string;
}

const MAX_ENTRIES = 2000;

export function onlyReads({ commands, redirections, unclear }: ShellLine, place: ReadingPlace): boolean {
  if (unclear !== undefined || commands.length === 0) return false;
  if (!isReadable(".", { ...place, unreadable: [] })) return false;
  return (
    redirections.every(
      ({ target, isWrite }) => !isWrite && /^[\w@%+=:,./-]+$/.test(target) && isReadable(target, place),
    ) && commands.every((command) => isReading(command, place))
  );
}

function isReading(command: ShellCommand, place: ReadingPlace): boolean {
  const name = nameOf(command);
  if (!BUILTINS.has(name) && isReplaced(name, place)) return false;
  if (name === "git")
    return isGitReading(command) && isReadable(".", place) && isPlainRepository(place.workingDirectory);
  const paths = readPaths(command);
  if (paths === undefined || BUILTINS.has(name)) return paths !== undefined;
  // Without a path, many of them read the working folder.
  return paths.length === 0 ? isReadable(".", place) : paths.every((word) => isReadableWord(word, place));
}

function isReadableWord(word: Word, place: ReadingPlace): boolean {
  if (word.isLiteral) return word.value === "-" || isReadable(word.value, place);
  return isPattern(word) && isReadablePattern(word, place);
}

/** In the folders both as it is named and where it leads; neither denied nor above something that is. */
function isReadable(path: string, { workingDirectory, directories, unreadable }: ReadingPlace): boolean {
  const named = resolve(workingDirectory, path);
  return [named, realPath(named)].every(
    (each) =>
      directories.some((directory) => isWithin(directory, each)) &&
      !unreadable.some((denied) => isWithin(denied, each) || isWithin(each, denied)),
  );
}

/** A pattern in the last name of a path: every link beside it must be readable, and no name may pass for an option. */
function isReadablePattern({ value, mayBeOption }: Word, place: ReadingPlace): boolean {
  const first = value.search(/[*?[]/);
  if (first < 0 || value.includes("/", first)) return false;
  const folder = resolve(place.workingDirectory, dirname(`${value.slice(0, first)}x`));
  if (!isReadable(folder, place) || !existsSync(folder)) return false;
  const entries = readdirSync(folder, { withFileTypes: true });
  if (entries.length > MAX_ENTRIES) return false;
  return entries.every(
    (entry) =>
      !(mayBeOption && entry.name.startsWith("-")) &&
      (!entry.isSymbolicLink() || isReadable(join(folder, entry.name), place)),
  );
}

/** A program of that name lies where an agent may have written it, and would be found. */
function isReplaced(name: string, { searchPath, directories }: ReadingPlace): boolean {
  return searchPath
    .split(delimiter)
    .some(
      (folder) =>
        !isAbsolute(folder) ||
        (directories.some((directory) => isWithin(directory, folder) || isWithin(directory, realPath(folder))) &&
          existsSync(join(folder, name))),
    );
}
