/**
 * Which commands surely change nothing. A short list of well-known commands; whatever is not on it may write.
 */
import type { ShellCommand } from "./command.ts";
import type { ShellLine } from "./line.ts";
import { afterProgram, mayRunOthers, nameOf } from "./programs.ts";
import type { Word } from "./word.ts";

interface Rule {
  /** An argument like this makes it write something. */
  not?: RegExp;
  /** With more arguments than this that are not options, the next one is a file to write. */
  maxOperands?: number;
  /** Its arguments are words, so it does not matter what a variable holds. */
  takesText?: boolean;
}

const ANY: Rule = {};

const each = (names: string, rule: Rule) => Object.fromEntries(names.split(" ").map((name) => [name, rule]));

const RULES: Readonly<Record<string, Rule>> = {
  ...each("ls cat head tail wc pwd stat du df whoami id uname which cut tr diff cmp basename dirname realpath", ANY),
  ...each("readlink seq sleep test nl tac rev fold md5sum sha1sum sha256sum cksum uptime ps free jq comm paste", ANY),
  ...each("od hexdump grep egrep fgrep rg find sort file tree type groups nproc", ANY),
  ...each("echo printf true false exit :", { takesText: true }),
  cd: { not: /^-$/ },
  uniq: { maxOperands: 1 },
  date: { not: /^(?:-[a-zA-Z]*f|--f|[^-+])/ },
};

/** It is on the list, so its arguments are files and words, and never commands. */
export const isKnownReader = (program: string): boolean => Object.hasOwn(RULES, program);

const GIT = new Set("status log diff show rev-parse ls-files ls-tree blame describe shortlog".split(" "));

/** Whether a line is plain and each of its commands only reads. */
export function isReadOnlyLine(line: ShellLine): boolean {
  const { commands, unclear } = line;
  return unclear === undefined && commands.length > 0 && commands.every((command) => isReadOnlyIn(line, command));
}

/** In another folder the configuration of git may be one that runs programs. */
export function isReadOnlyIn({ commands, unclear }: ShellLine, command: ShellCommand): boolean {
  const changesFolder = commands.some((other) => nameOf(other) === "cd");
  return unclear === undefined && isReadOnly(command) && !(changesFolder && nameOf(command) === "git");
}

function isReadOnly(command: ShellCommand): boolean {
  const name = nameOf(command);
  const args = afterProgram(command);
  if (mayRunOthers(command)) return false;
  if (name === "git") return GIT.has(args[0]?.value ?? "") && !args.some((arg) => arg.hasVariable);
  const rule = Object.hasOwn(RULES, name) ? RULES[name] : undefined;
  if (!rule) return false;
  if (rule.takesText) return true;
  if (name === "cd" && args.length === 0) return false;
  if (args.some((arg) => arg.hasVariable || rule.not?.test(arg.value))) return false;
  return rule.maxOperands === undefined || isWithin(args, rule.maxOperands);
}

function isWithin(args: readonly Word[], maxOperands: number): boolean {
  const isCertain = args.every((arg) => arg.isLiteral && arg.value !== "--"); // After `--` a dash means nothing.
  return isCertain && args.filter(({ value }) => !value.startsWith("-") || value === "-").length <= maxOperands;
}
