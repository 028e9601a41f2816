/** `retinue hooks …`: the hooks that files name. */
import { command, type Field, type Group } from "./command.ts";
import { home, json } from "./shared-fields.ts";
import { folder, optional } from "./values.ts";

const place = {
  term: "[folder]",
  about: "a folder of the project (default: the current folder)",
  is: optional(folder),
} satisfies Field;

const list = command({
  name: "list",
  summary: "every hook that a file names, and whether it runs",
  more: "The exit code is 1 when a file or an entry cannot be used.",
  fields: { folder: place, json, home },
  examples: ["retinue hooks list", "retinue hooks list ~/src/project --json"],
  async run({ folder: named, ...flags }, context) {
    return (await import("../hooks.ts")).listHooks(named, flags, context);
  },
});

export const hooks: Group = {
  name: "hooks",
  summary: "show the commands that run at fixed points of a session",
  more: "Hooks of a project run only in a trusted folder, and only those that were shown when it was trusted.",
  commands: [list],
  examples: ["retinue hooks list"],
};
