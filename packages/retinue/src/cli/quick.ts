/**
 * The fast path for the two commands whose start somebody waits for: a runtime that a client starts, and a hook of a harness.
 *
 * Loads one description and reads the arguments with Node's own parser. Anything else, help and mistakes included, is left to the
 * parser of all commands (parser.ts), which can explain it.
 */
import { parseArgs } from "node:util";
import type { ProcessContext } from "./cli-context.ts";
import type { Command, Fields, Values } from "./commands/command.ts";
import { isArgument, isNegated, nameOf, takesValue } from "./commands/term.ts";

export type Start = (context: ProcessContext) => Promise<number>;

/** Undefined when it is neither of the two commands, or its arguments need the full parser. */
export async function readQuickly(args: readonly string[]): Promise<Start | undefined> {
  const found = await quickCommand(args);
  const values = found && read(found.command.fields, found);
  return values && ((context) => found.command.start(values, context));
}

interface Quick {
  command: Command<ProcessContext>;
  args: readonly string[];
  /** False for SDK clients: they may be newer than we are, and use flags that we do not know. */
  strict: boolean;
}

async function quickCommand(args: readonly string[]): Promise<Quick | undefined> {
  const [word, ...rest] = args;
  const isHeadless = args.includes("--headless");
  if (isHeadless || word === "serve") {
    const { serve } = await import("./commands/serve.ts");
    return { command: serve, args: isHeadless ? args : rest, strict: !isHeadless };
  }
  if (word !== "hook") return undefined;
  const { hook } = await import("./commands/hook.ts");
  return { command: hook, args: rest, strict: true };
}

function read(fields: Fields, { args, strict }: Omit<Quick, "command">): Values | undefined {
  if (args.includes("--help") || args.includes("-h")) return undefined;
  const named = Object.entries(fields).map(([name, { term }]) => ({
    name,
    term,
    flag: nameOf(term).replace("--", ""),
  }));
  const options = named.filter(({ term }) => !isArgument(term));
  const positions = named.filter(({ term }) => isArgument(term));
  const typed = parsed(args, { strict, options });
  if (!typed || (strict && typed.positionals.length !== positions.length)) return undefined;
  const values = typed.values;
  if (options.some(({ term, flag }) => takesValue(term) && typeof values[flag] === "boolean")) return undefined;
  return Object.fromEntries([
    ...options.map(({ name, term, flag }) => [name, isNegated(term) ? !values[flag] : values[flag]]),
    ...positions.map(({ name }, at) => [name, typed.positionals[at]]),
  ]);
}

function parsed(
  args: readonly string[],
  { strict, options }: { strict: boolean; options: readonly { term: string; flag: string }[] },
) {
  const types = options.map(({ term, flag }) => [flag, { type: takesValue(term) ? "string" : "boolean" }] as const);
  try {
    return parseArgs({ args: [...args], strict, allowPositionals: true, options: Object.fromEntries(types) });
  } catch {
    return undefined; // The full parser explains what is wrong.
  }
}
