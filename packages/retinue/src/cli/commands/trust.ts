/** `retinue trust …`: the folders whose agents, skills and MCP servers count. */
import { command, type Field, type Group } from "./command.ts";
import { home, json } from "./shared-fields.ts";
import { folder, optional } from "./values.ts";

const load = () => import("../trust.ts");
const place = {
  term: "[folder]",
  about: "a folder of the project (default: the current folder)",
  is: optional(folder),
} satisfies Field;

const list = command({
  name: "list",
  summary: "the folders that somebody has decided about, and the MCP servers and hooks that may be started in them",
  fields: { json, home },
  examples: ["retinue trust list"],
  async run(input, context) {
    await (await load()).listTrust(input, context);
  },
});

const add = command({
  name: "add",
  summary: "trust a project, with the MCP servers and hooks that it names now; they are shown",
  more: "A server or hook whose command line or address changes later needs this again.",
  fields: { folder: place, json, home },
  examples: ["retinue trust add", "retinue trust add ~/src/project"],
  async run({ folder: named, ...flags }, context) {
    await (await load()).addTrust(named, flags, context);
  },
});

const remove = command({
  name: "remove",
  summary: "forget what was decided about a project; the exit code is 1 when nothing was",
  fields: { folder: place, json, home },
  examples: ["retinue trust remove", "retinue trust remove ~/src/project"],
  async run({ folder: named, ...flags }, context) {
    return (await load()).removeTrust(named, flags, context);
  },
});

export const trust: Group = {
  name: "trust",
  summary: "decide whose agents, skills, hooks and MCP servers count: list, add and remove trusted folders",
  more: "Trust is for one project: the repository around a folder, or the folder itself where there is none.",
  commands: [list, add, remove],
  examples: ["retinue trust list", "retinue trust add"],
};
