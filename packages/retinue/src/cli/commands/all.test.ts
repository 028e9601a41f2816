import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parserOf } from "../parser.ts";
import { COMMANDS } from "./all.ts";
import { type Command, isGroup, type Values } from "./command.ts";
import { withCommands } from "./page.ts";
import { prompt } from "./prompt.ts";
import { isArgument, isRequired, nameOf } from "./term.ts";

const commands: readonly (readonly [string, Command])[] = [
  ["", prompt],
  ...COMMANDS.flatMap((each) =>
    isGroup(each)
      ? each.commands.map((one) => [`${each.name} ${one.name}`, one] as const)
      : [[each.name, each] as const],
  ),
];
const everything = [...commands, ...COMMANDS.filter(isGroup).map((group) => [group.name, group] as const)];

/** What the parser prints, or the command that it finds with its values. */
async function parse(args: readonly string[]) {
  let printed = "";
  const found: { command?: Command; values?: Values } = {};
  const parser = parserOf({
    print: (text) => {
      printed += text;
    },
    run: async (command, values) => void Object.assign(found, { command, values }),
  });
  let message = "";
  const code = await parser.parseAsync([...args], { from: "user" }).then(
    () => 0,
    (error: { exitCode?: number; message?: string }) => {
      message = error.message ?? "";
      return error.exitCode;
    },
  );
  return { code, printed, message, ...found };
}

/** Splits a line as a shell would, as far as our examples need it. */
function wordsOf(line: string): string[] {
  const own = line.replace(/^.*\bretinue /, "").replace(/ <.*$/, "");
  return [...own.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, ...parts]) => parts.find((part) => part !== undefined) ?? "",
  );
}

test.each(everything)(
  "retinue %s: --help and the help command print the same, with all options and an example",
  async (path, described) => {
    const words = path.split(" ").filter(Boolean);
    const { code, printed } = await parse([...words, "--help"]);
    expect(code).toBe(0);
    expect(await parse(["help", ...words])).toMatchObject({ code: 0, printed });
    expect(printed).toContain("Examples:");
    const terms = "fields" in described ? Object.values(described.fields).map(({ term }) => term) : [];
    for (const term of terms) expect(printed).toContain(isArgument(term) ? nameOf(term) : term);
  },
);

test.each(commands)("retinue %s: the parser takes its examples", async (_path, command) => {
  expect(command.examples.length).toBeGreaterThan(0);
  for (const example of command.examples) {
    const { values = {}, ...found } = await parse(wordsOf(example));
    expect(found.command?.name).toBe(command.name);
    for (const [name, { is }] of Object.entries(command.fields)) is.read(values[name]);
  }
});

test.each(commands)(
  "retinue %s: an option that does not exist is refused with the one that was meant",
  async (path, command) => {
    const words = path.split(" ").filter(Boolean);
    const usageCode = command.usageCode ?? 2;
    const options = Object.values(command.fields).flatMap(({ term }) => /--[a-z-]+/.exec(term)?.[0] ?? []);
    for (const option of options) {
      const misspelt = `${option.slice(0, 4)}${option.at(5) ?? "x"}${option.at(4) ?? "x"}${option.slice(6)}`;
      if (options.includes(misspelt)) continue;
      const { code, message } = await parse([...words, misspelt]);
      expect({ misspelt, code }).toEqual({ misspelt, code: usageCode });
      expect(message).toContain(`unknown option '${misspelt}'`);
      expect(message).toContain(option);
    }
    expect(await parse([...words, "--frobnicate"])).toMatchObject({
      code: usageCode,
      message: expect.stringContaining("unknown option '--frobnicate'"),
    });
  },
);

test.each(commands)("retinue %s: what it says about defaults is what it gives", (_path, { fields }) => {
  for (const { term, about, is } of Object.values(fields)) {
    const value = isRequired(term) ? undefined : is.read(undefined);
    if (typeof value === "string" || typeof value === "number") expect(about).toContain(`(default: ${value})`);
  }
});

test.each(commands)("retinue %s: no two of its options have the same name", (_path, { fields }) => {
  const names = Object.values(fields).map(({ term }) => nameOf(term));
  expect(new Set(names).size).toBe(names.length);
});

test("docs/cli.md has every command and option as they are; npm run docs writes them", () => {
  const page = readFileSync(new URL("../../../../../docs/cli.md", import.meta.url), "utf8");
  expect(page).toBe(withCommands(page));
});

test("docs/cli.md and docs/continuity.md name no option that no command has", () => {
  const known = new Set(commands.flatMap(([, { fields }]) => Object.values(fields).map(({ term }) => nameOf(term))));
  const pages = ["cli.md", "continuity.md"].map((name) =>
    readFileSync(new URL(`../../../../../docs/${name}`, import.meta.url), "utf8"),
  );
  const named = pages.flatMap((page) => page.match(/(?<![\w-])--[a-z][a-z-]+/g) ?? []);
  expect(named.filter((name) => !known.has(name) && !["--help", "--version"].includes(name))).toEqual([]);
});
