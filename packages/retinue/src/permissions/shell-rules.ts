/**
 * What rules and answers mean for a command line: the one place that allow rules, deny rules, standing approvals and plan mode ask.
 *
 * Allowing needs certainty: every command of a plain line is covered, or the whole line is named. Denying needs only a possibility, seen
 * through wrappers; and where neither is certain, a person is asked.
 */
import type { PermissionRequest, PermissionRule } from "@retinue/protocol";
import { isOfOnePiece, type Remembered, rememberedBy } from "../shell-language/approval.ts";
import type { ShellCommand } from "../shell-language/command.ts";
import { readLine, type ShellLine } from "../shell-language/line.ts";
import { type LookedThrough, lookThrough } from "../shell-language/look-through.ts";
import {
  afterProgram,
  identifierOf,
  isInterpreter,
  mayRunOthers,
  programOf,
  SUBCOMMANDS,
} from "../shell-language/programs.ts";
import { isKnownReader, isReadOnlyLine } from "../shell-language/read-only.ts";
import type { Word } from "../shell-language/word.ts";

export type ShellRequest = Extract<PermissionRequest, { kind: "shell" }>;

export const isShellRule = ({ kind }: PermissionRule): boolean => kind === "shell" || kind === "bash";

/** Text that is typed into a program is no command line, so its request offers no approval, and only the whole text counts. */
export function lineOf({ fullCommandText, canOfferSessionApproval }: ShellRequest): ShellLine {
  const line = readLine(fullCommandText);
  return canOfferSessionApproval ? line : { ...line, unclear: line.unclear ?? "it is no plain command line" };
}

/** Whether a rule's argument allows the line. */
export function allowsLine(argument: string, request: ShellRequest): boolean {
  if (argument === request.fullCommandText) return true;
  const { commands, unclear } = lineOf(request);
  if (unclear !== undefined || commands.length === 0) return false;
  return commands.every((command) => allowsCommand(argument, command));
}

function allowsCommand(argument: string, command: ShellCommand): boolean {
  if (!argument.endsWith(":*")) return argument === command.text || argument === identifierOf(command);
  const named = wordsOf(argument.slice(0, -2));
  if (!named || !beginsWith(command, named)) return false;
  if (!mayRunOthers(command)) return true;
  // A script that the rule names is one program, whatever its arguments are.
  const [, script] = named;
  return isInterpreter(programOf(command)) && script !== undefined && !script.startsWith("-");
}

function beginsWith({ words }: ShellCommand, named: readonly string[]): boolean {
  return named.every((value, index) => words[index]?.isLiteral && words[index].value === value);
}

/** The words of a rule, which is written like a command; undefined when it is not a plain one. */
function wordsOf(text: string): readonly string[] | undefined {
  const { commands, unclear } = readLine(text);
  const [command, ...others] = commands;
  if (!command || others.length > 0 || unclear !== undefined) return undefined;
  return command.words.every((word) => word.isLiteral) ? command.words.map(({ value }) => value) : undefined;
}

/** Whether an answer that names these identifiers covers the line. */
export function identifiersCover(identifiers: readonly string[], request: ShellRequest): boolean {
  if (identifiers.includes(request.fullCommandText)) return true;
  const line = lineOf(request);
  if (line.unclear !== undefined || line.commands.length === 0) return false;
  return rememberedBy(line).every(({ name }) => identifiers.includes(name));
}

/** What an answer for longer than this call would cover. */
export function coverage(request: ShellRequest): { names: readonly Remembered[]; isWholeLine: boolean } {
  const line = lineOf(request);
  const isWholeLine = line.unclear !== undefined || isOfOnePiece(line);
  return { names: isWholeLine ? [{ name: line.text, isExact: true }] : rememberedBy(line), isWholeLine };
}

/** Whether a rule's argument denies the line, as far as the line can be seen through. */
export function deniesLine(argument: string, request: ShellRequest): boolean {
  if (argument === request.fullCommandText) return true;
  const named = deniedWords(argument);
  return seen(request).commands.some((command) => argument === command.text || denies(named, command) === "yes");
}

/** Why a command that these arguments of rules deny may hide in the line; undefined when none can. */
export function mayHideDenied(denied: readonly string[], request: ShellRequest): string | undefined {
  if (denied.length === 0) return undefined;
  const { commands, unclear } = seen(request);
  if (unclear !== undefined) return unclear;
  const isPossible = denied.some((argument) =>
    commands.some((command) => denies(deniedWords(argument), command) !== "no"),
  );
  return isPossible ? "its arguments may name a denied command" : undefined;
}

const seen = (request: ShellRequest): LookedThrough => lookThrough(lineOf(request));

function deniedWords(argument: string): readonly string[] {
  const text = argument.replace(/:\*$/, "");
  return wordsOf(text) ?? text.split(/\s+/);
}

/** The same program in whatever folder, with the words of the rule in order and its options anywhere. */
function denies([name = "", ...rest]: readonly string[], command: ShellCommand): "yes" | "maybe" | "no" {
  const program = programOf(command).toLowerCase();
  const denied = fileName(name);
  const args = afterProgram(command);
  // A program that nobody knows may run what its arguments name, as `sudo` does.
  const isKnown = isKnownReader(program) || SUBCOMMANDS.has(program);
  if (program !== denied) return !isKnown && args.some(({ value }) => fileName(value) === denied) ? "maybe" : "no";
  const operands = rest.filter((word) => !word.startsWith("-"));
  const options = rest.filter((word) => word.startsWith("-"));
  const hasOperands = args[0]?.value.startsWith("-")
    ? isIn(operands, args)
    : operands[0] === undefined || (args[0]?.value === operands[0] && isIn(operands, args));
  if (hasOperands && options.every((option) => hasOption(option, args))) return "yes";
  return rest.length > 0 && args.some((arg) => !arg.isLiteral) ? "maybe" : "no";
}

const fileName = (path: string): string => path.replace(/^.*\//s, "").toLowerCase();

/** Whether the words occur in this order; others may stand between them. */
function isIn(words: readonly string[], args: readonly Word[]): boolean {
  let at = 0;
  for (const { value } of args) if (value === words[at]) at++;
  return at === words.length;
}

/** `--force` may be abbreviated, and the letters of `-rf` may be apart. */
function hasOption(option: string, args: readonly Word[]): boolean {
  const given = args.map(({ value }) => value.replace(/=.*$/s, "")).filter((value) => value.startsWith("-"));
  if (option.startsWith("--")) return given.some((value) => value.length > 2 && option.startsWith(value));
  const letters = given.filter((value) => !value.startsWith("--")).join("");
  return given.includes(option) || [...option.slice(1)].every((letter) => letters.includes(letter));
}

/** Why plan mode refuses the line; undefined when the line only reads. */
export function changesSomething(request: ShellRequest): string | undefined {
  const line = lineOf(request);
  if (isReadOnlyLine(line)) return undefined;
  return line.unclear ?? "it is not known to only read";
}
