/** `retinue plugins …`: the plugins in the home folder. */
import { command, type Field, type Group } from "./command.ts";
import { home, json, yes } from "./shared-fields.ts";
import { text } from "./values.ts";

const load = () => import("../plugins.ts");
const named = { term: "<name>", about: "the name of a plugin", is: text } satisfies Field;

const list = command({
  name: "list",
  summary: "the plugins in the home folder, with what each brings",
  more: "The exit code is 1 when one cannot be read.",
  fields: { json, home },
  examples: ["retinue plugins list"],
  async run(input, context) {
    return (await load()).listPlugins(input, context);
  },
});

const add = command({
  name: "add",
  summary: "install a plugin, or a newer version of it; what it brings is shown first",
  more: "The source is a folder, a tarball, the address of a git repository (or owner/name on GitHub), or the name of an npm package. No script of it runs while it is installed.",
  fields: {
    source: { term: "<source>", about: "where it comes from", is: text },
    yes: { ...yes, about: "do not ask; needed without a terminal when it brings programs" },
    json,
    home,
  },
  examples: ["retinue plugins add ./my-plugin --yes"],
  async run({ source, ...flags }, context) {
    return (await load()).addPlugin(source, flags, context);
  },
});

const remove = command({
  name: "remove",
  summary: "remove a plugin; the exit code is 1 when there is none of that name",
  fields: { name: named, json, home },
  examples: ["retinue plugins remove another-plugin"],
  async run({ name, ...flags }, context) {
    return (await load()).removeNamed(name, flags, context);
  },
});

export const plugins: Group = {
  name: "plugins",
  summary: "list, add and remove plugins: agents, skills, hooks, commands and MCP servers in one folder",
  more: "A plugin that was added counts in every session that looks for files. One for a single run: --plugin-dir.",
  commands: [list, add, remove],
  examples: ["retinue plugins list"],
};
