/** What can be completed at each place of a command line, from the descriptions of the commands: exactly what the parser knows. */
import { type Command, type Field, type Group, isGroup } from "./commands/command.ts";
import { prompt } from "./commands/prompt.ts";
import { isArgument, nameOf, takesValue } from "./commands/term.ts";

/** What follows an option or stands as an argument. */
export type Values =
  | { type: "none" }
  | { type: "file" }
  | { type: "session" }
  | { type: "words"; words: readonly string[] };

export interface Completed {
  name: string;
  short?: string;
  about: string;
  /** Undefined for a switch. */
  values?: Values;
}

/** One place in a command line: after these words, these may come. */
export interface Place {
  /** `sessions list`; empty at the beginning. */
  path: string;
  commands: readonly { name: string; about: string }[];
  options: readonly Completed[];
  /** Of the arguments; the first decides. */
  values: Values;
}

export function allPlaces(all: readonly (Command | Group)[]): Place[] {
  const top = all.map(({ name, summary: about }) => ({ name, about }));
  const below = all.flatMap((each) =>
    isGroup(each)
      ? [
          {
            path: each.name,
            commands: each.commands.map(({ name, summary: about }) => ({ name, about })),
            options: each.alone ? placeOf(each.name, each.alone).options : [HELP],
            values: NONE,
          },
          ...each.commands.map((one) => placeOf(`${each.name} ${one.name}`, one)),
        ]
      : [placeOf(each.name, each)],
  );
  const first = placeOf("", prompt);
  const help = { name: "help", about: "print help about a command" };
  return [{ ...first, commands: [...top, help], options: [...first.options, VERSION] }, ...below];
}

const NONE: Values = { type: "none" };
const HELP: Completed = { name: "--help", short: "-h", about: "print help" };
const VERSION: Completed = { name: "--version", short: "-v", about: "print the version" };

function placeOf(path: string, { fields }: Command): Place {
  const all = Object.values(fields);
  const [argument] = all.filter(({ term }) => isArgument(term));
  const options = all.filter(({ term }) => !isArgument(term)).map(optionOf);
  return { path, commands: [], options: [...options, HELP], values: argument ? valuesOf(argument) : NONE };
}

function optionOf(field: Field): Completed {
  const { term, about } = field;
  const [, short] = /^(-[a-z]),/.exec(term) ?? [];
  return {
    name: nameOf(term),
    about,
    ...(short ? { short } : {}),
    ...(takesValue(term) ? { values: valuesOf(field) } : {}),
  };
}

function valuesOf({ term, is }: Field): Values {
  if (is.choices) return { type: "words", words: is.choices };
  if (/<session|--resume|--session </.test(term)) return { type: "session" };
  return /<(?:path|file|folder)>/.test(term) ? { type: "file" } : NONE;
}

/** Lists the beginnings of ids; the first line of the list is its head. */
export const SESSION_IDS = "sessions list --limit 50 2>/dev/null | awk 'NR > 1 { print $1 }'";
