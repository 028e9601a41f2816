/**
 * What is wrong with the command in a rule. Without the parser of command lines, which may not be loaded when a rule is given: a word that is not read here
 * is left to the rules themselves.
 */
import { commandOf, type ShellCommand } from "../shell-language/command.ts";
import { isDangerous } from "../shell-language/dangerous.ts";
import { isInterpreter, mayRunOthers, programOf, SUBCOMMANDS } from "../shell-language/programs.ts";
import { readWord, type Word } from "../shell-language/word.ts";

/** Without an operand they do nothing, so such a line is never run. */
const NEED_OPERANDS = new Set("rm rmdir mv cp ln mkdir touch chmod chown chgrp kill shred".split(" "));
const LINE = /[|;&<>\n`]|\$\(/;

export function shellRuleProblem(argument: string, effect: "allow" | "deny"): string | undefined {
  const named = argument.replace(/:\*$/, "").trim();
  const hasRest = argument.endsWith(":*");
  if (named === "" || /^\**$/.test(named)) return "it names no command. Did you mean shell, which is every command?";
  const plain = withoutQuoted(named);
  if (!plain.includes("(") && plain.endsWith(")")) return "it has one closing bracket too many";
  if (/\)\s*,/.test(plain)) return "it is more than one rule. Give each of them by itself";
  const command = wordsOf(named);
  if (effect === "deny") return denyProblem(named, plain);
  if (hasRest) return restProblem(named, plain, command);
  return command && exactProblem(named, command);
}

function denyProblem(named: string, plain: string): string | undefined {
  if (LINE.test(plain))
    return "a deny rule names one command, and this is more than that. Name each command in a rule of its own, such as shell(rm)";
  if (/^\w+=/.test(plain)) return "it begins with an assignment. Name the command itself, such as shell(rm)";
  return plain.includes("*") ? starProblem(named) : undefined;
}

function restProblem(named: string, plain: string, command: ShellCommand | undefined): string | undefined {
  if (LINE.test(plain)) return "with :* it must name one plain command, without pipes, lists and redirections";
  if (plain.includes("*")) return starProblem(named);
  if (command && mayRunOthers(command) && !namesScript(command)) return onlyWhole(named);
  return undefined;
}

/** Without `:*` it covers a command with any arguments, or exactly one line. */
function exactProblem(named: string, command: ShellCommand): string | undefined {
  const args = command.words.slice(1);
  if (args.length === 0) return mayRunOthers(command) ? onlyWhole(named) : undefined;
  const program = programOf(command);
  if (NEED_OPERANDS.has(program) && args.every(({ value }) => value.startsWith("-")))
    return `it covers only the line '${named}' itself, which does nothing. Did you mean shell(${named}:*)?`;
  const isLineOfOwn =
    (isDangerous(command) || mayRunOthers(command)) && !(SUBCOMMANDS.has(program) && args.length === 1);
  return args.at(-1)?.source === "*" && !isLineOfOwn ? starProblem(named) : undefined;
}

function starProblem(named: string): string {
  const before = named.slice(0, named.indexOf("*")).trim();
  return `* is a pattern only at the end, after a colon${before === "" ? "" : `. Did you mean shell(${before}:*)?`}`;
}

function onlyWhole(named: string): string {
  const example = isInterpreter(named) ? `, or with its script, such as shell(${named} build.js:*)` : "";
  return `${named} can run any other command, so it is allowed only by whole lines, such as shell(${named} --version)${example}`;
}

function namesScript({ words }: ShellCommand): boolean {
  const [program, script] = words;
  return program !== undefined && isInterpreter(program.value) && script !== undefined && !script.value.startsWith("-");
}

/** A longer line is never plain, so such a rule can only mean exactly that line. */
const MAX_PLAIN = 2000;

function wordsOf(text: string): ShellCommand | undefined {
  if (text.length > MAX_PLAIN) return undefined;
  const words = text.split(/\s+/).map(readWord);
  return words.every((word): word is Word => word !== undefined) ? commandOf(words) : undefined;
}

const withoutQuoted = (text: string): string => text.replaceAll(/'[^']*'|"(?:[^"\\]|\\.)*"|\\./gs, "x");
