/**
 * What a command is: its words, what it takes, and what it does. Parser, help and docs/cli.md all come from these descriptions.
 *
 * Descriptions are data. What a command needs to work is loaded when it runs.
 */
import type { CliContext } from "../cli-context.ts";
import { UsageError } from "../usage-error.ts";
import { nameOf } from "./term.ts";
import { type Reader, WrongValue } from "./values.ts";

/** One argument or option. */
export interface Field<Value = unknown> {
  /** As it is typed: `<session>`, `[input]`, `--limit <n>`, `-y, --yes`, `--no-stream`. */
  readonly term: string;
  readonly about: string;
  /** Checks what was typed, and gives the value when nothing was typed. */
  readonly is: Reader<Value>;
  /** May be given several times. */
  readonly repeats?: boolean;
  /** An option that it cannot be used with, as it is typed. */
  readonly conflicts?: string;
}

export type Fields = Readonly<Record<string, Field>>;
export type InputOf<F extends Fields> = { [Name in keyof F]: ReturnType<F[Name]["is"]["read"]> };

interface Described {
  readonly name: string;
  /** Shown after its name in the list of commands. */
  readonly summary: string;
  /** Further text for its own help. */
  readonly more?: string;
  /** Whole command lines. */
  readonly examples: readonly string[];
}

interface Description<F extends Fields, Context> extends Described {
  readonly fields: F;
  /** The exit code for wrong usage; 2 unless given. */
  readonly usageCode?: number;
  /** Resolves with the exit code; nothing means 0. */
  run(input: InputOf<F>, context: Context): Promise<number | undefined>;
}

export interface Command<Context = CliContext> extends Described {
  readonly fields: Fields;
  readonly usageCode?: number;
  /** Checks the values, by the names of the fields, and runs. Resolves with the exit code. */
  start(values: Values, context: Context): Promise<number>;
}

export type Values = Readonly<Record<string, unknown>>;

/** Commands that share a first word. */
export interface Group extends Described {
  readonly commands: readonly Command[];
  /** What the word does without a command. */
  readonly alone?: Command;
}

export function isGroup(each: Command | Group): each is Group {
  return "commands" in each;
}

export function command<F extends Fields, Context = CliContext>(
  description: Description<F, Context>,
): Command<Context> {
  return {
    ...description,
    start: async (values, context) => (await description.run(parse(description, values), context)) ?? 0,
  };
}

function parse<F extends Fields>({ fields, usageCode }: { fields: F; usageCode?: number }, values: Values): InputOf<F> {
  const input = Object.entries(fields).map(([name, { term, is }]) => {
    try {
      return [name, is.read(values[name])];
    } catch (error) {
      if (!(error instanceof WrongValue)) throw error;
      throw new UsageError(`${nameOf(term)} ${error.message}, not "${String(values[name])}"`, usageCode);
    }
  });
  return Object.fromEntries(input) as InputOf<F>;
}
