/** The parser of all commands, made from their descriptions: it finds the command and its values, prints help, and explains what is wrong. */
import { Option, Command as Parser } from "commander";
import { VERSION } from "../host/config.ts";
import { nearest } from "../nearest.ts";
import { COMMANDS } from "./commands/all.ts";
import { type Command, type Field, type Fields, type Group, isGroup, type Values } from "./commands/command.ts";
import { prompt } from "./commands/prompt.ts";
import { isArgument, nameOf } from "./commands/term.ts";
import help from "./help.md";
import { inOneLine, UsageError } from "./usage-error.ts";

interface ParserOptions {
  print: (text: string) => void;
  run: Run;
}

type Run = (command: Command, values: Values) => Promise<void>;

export function parserOf({ print, run }: ParserOptions): Parser {
  const root = new Parser(prompt.name)
    .version(VERSION, "-v, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand(false)
    .enablePositionalOptions()
    .configureOutput({ writeOut: print, writeErr: () => undefined }) // What is wrong is thrown, and printed in one line.
    .configureHelp({ subcommandTerm: (each) => each.name() });
  describe(root, {
    ...prompt,
    summary: "An agent runtime: a main agent with a retinue of sub-agents.",
    more: help.trim(),
    examples: [],
  });
  above(root).action(async () => {
    refuseUnknown(root);
    await run(prompt, valuesOf(root, prompt.fields));
  });
  for (const each of COMMANDS) {
    const parser = root.command(each.name);
    if (isGroup(each)) addGroup(parser, each, run);
    else addCommand(parser, each, run);
  }
  root
    .command("help")
    .argument("[command...]", "the words of the command")
    .description("print help about a command")
    .action((words: readonly string[]) => commandAt(root, words).outputHelp());
  return root;
}

function addGroup(parser: Parser, group: Group, run: Run): void {
  const { alone } = group;
  describe(parser.enablePositionalOptions(), { ...group, fields: alone?.fields ?? {} });
  for (const each of group.commands) addCommand(parser.command(each.name), each, run);
  above(parser).action(async () => {
    refuseUnknown(parser);
    if (alone) return await run(alone, { ...valuesOf(parser, alone.fields), ...givenBefore(parser, alone.fields) });
    throw new UsageError(`${group.name} needs a command: ${namesIn(parser).join(", ")}. ${seeHelp(parser)}`);
  });
}

function addCommand(parser: Parser, command: Command, run: Run): void {
  describe(parser, command);
  parser
    .allowExcessArguments(false)
    .action(() => run(command, { ...valuesOf(parser, command.fields), ...givenBefore(parser, command.fields) }));
}

type Words = Pick<Command, "summary" | "more" | "examples" | "fields" | "usageCode">;

function describe(parser: Parser, { summary, more, examples, fields, usageCode }: Words): void {
  parser.description(summary).exitOverride((error) => {
    throw error.exitCode === 0 ? error : new UsageError(errorLine(error.message, parser), usageCode);
  });
  for (const field of Object.values(fields)) {
    if (isArgument(field.term)) parser.argument(field.term, field.about);
    else parser.addOption(optionOf(field));
  }
  if (more !== undefined) parser.addHelpText("after", `\n${more}`);
  if (examples.length > 0)
    parser.addHelpText("after", `\nExamples:\n${examples.map((line) => `  ${line}`).join("\n")}`);
}

function optionOf({ term, about, repeats, conflicts }: Field): Option {
  const option = new Option(term, about);
  if (repeats) option.argParser((value: string, all: readonly string[] = []) => [...all, value]);
  return conflicts === undefined ? option : option.conflicts(attributeOf(conflicts));
}

const attributeOf = (term: string): string => new Option(term).attributeName();

/** What was typed, by the names of the fields. */
function valuesOf(parser: Parser, fields: Fields): Values {
  const typed = [...parser.processedArgs];
  return Object.fromEntries(
    Object.entries(fields).map(([name, { term }]) => [
      name,
      isArgument(term) ? typed.shift() : parser.getOptionValue(attributeOf(term)),
    ]),
  );
}

/** `retinue --home x sessions list`: an option before the command belongs to prompt mode, and counts when the command has it too. */
function givenBefore(parser: Parser, fields: Fields): Values {
  const root = rootOf(parser);
  const given = Object.values(prompt.fields).filter(
    ({ term }) => root.getOptionValueSource(attributeOf(term)) === "cli",
  );
  const values = given.map(({ term }) => {
    const [name] = Object.entries(fields).find(([, field]) => nameOf(field.term) === nameOf(term)) ?? [];
    if (name === undefined) throw new UsageError(`${nameOf(term)} is not for ${pathOf(parser)}. ${seeHelp(parser)}`);
    const attribute = attributeOf(term);
    const isRepeated = parser.getOptionValueSource(attribute) === "cli";
    return [name, (isRepeated ? parser : root).getOptionValue(attribute)];
  });
  return Object.fromEntries(values);
}

/** For a parser with subcommands: a word that is none of them is refused, even with --help. */
function above(parser: Parser): Parser {
  return parser.allowExcessArguments(true).addHelpText("before", () => {
    refuseUnknown(parser);
    return "";
  });
}

function refuseUnknown(parser: Parser): void {
  const [word] = parser.args;
  if (word !== undefined && !word.startsWith("-") && !namesIn(parser).includes(word))
    throw unknownCommand(parser, word);
}

function commandAt(root: Parser, words: readonly string[]): Parser {
  const [word, ...rest] = words;
  if (word === undefined) return root;
  const found = root.commands.find((each) => each.name() === word);
  if (!found) throw unknownCommand(root, word);
  return commandAt(found, rest);
}

const rootOf = (parser: Parser): Parser => (parser.parent ? rootOf(parser.parent) : parser);

const namesIn = (parser: Parser): string[] => parser.commands.map((each) => each.name());

function pathOf(parser: Parser): string {
  return parser.parent ? `${pathOf(parser.parent)} ${parser.name()}` : parser.name();
}

const seeHelp = (parser: Parser): string => `See: ${pathOf(parser)} --help`;

function unknownCommand(parser: Parser, word: string): UsageError {
  const names = namesIn(parser);
  const meant = nearest(word, names);
  const path = pathOf(parser);
  const more = parser.parent ? "" : "; a prompt goes after -p";
  const hint = meant ? `Did you mean "${path} ${meant}"?` : `There are: ${names.join(", ")}${more}.`;
  return new UsageError(`there is no command ${word}. ${hint}`);
}

function errorLine(text: string, parser: Parser): string {
  const line = inOneLine(text);
  return /Did you mean/.test(line) ? line : `${line.replace(/\.$/, "")}. ${seeHelp(parser)}`;
}
