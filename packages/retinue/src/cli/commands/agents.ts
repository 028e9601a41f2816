/** `retinue agents …`: the agents that are there for a folder, and the files that they come from. */
import { command, type Group } from "./command.ts";
import { home, json } from "./shared-fields.ts";
import { flag, optional, text, words } from "./values.ts";

const list = command({
  name: "list",
  summary: "the agents of this folder and of yours: where each is from, what it may do, and which file it hides",
  fields: { json, home },
  examples: ["retinue agents list"],
  async run(input, context) {
    await (await import("../agents.ts")).listAgents(input, context);
  },
});

const show = command({
  name: "show",
  summary: "all of one agent, with its prompt",
  fields: { name: { term: "<name>", about: "the name of an agent", is: text }, json, home },
  examples: ["retinue agents show explore"],
  async run({ name, ...flags }, context) {
    await (await import("../agents.ts")).showAgent(name, flags, context);
  },
});

const check = command({
  name: "check",
  summary: "every mistake in agent files, each with its file and line; the exit code is 1 when there is one",
  more: "Files of this folder are read whether or not it is trusted: nothing of them is used.",
  fields: {
    files: {
      term: "[files...]",
      about: "agent files or folders (default: those of this folder and yours)",
      is: words,
    },
    json,
    home,
  },
  examples: ["retinue agents check", "retinue agents check --json"],
  async run({ files, ...flags }, context) {
    return (await import("../agents-check.ts")).checkAgents(files, flags, context);
  },
});

const create = command({
  name: "new",
  summary: "write the file of a new agent, to be filled in",
  fields: {
    name: { term: "<name>", about: "what it is called: letters, digits, dashes", is: text },
    description: { term: "--description <text>", about: "when to use it", is: optional(text) },
    tools: {
      term: "--tools <names>",
      about: "the tools that it may use, with commas (default: every tool)",
      is: optional(text),
    },
    user: { term: "--user", about: "for all of your projects, in the home folder, and not for this folder", is: flag },
    home,
  },
  examples: ["retinue agents new reviewer", 'retinue agents new reader --tools view,grep --description "Reads code"'],
  async run({ name, ...options }, context) {
    return (await import("../agents-new.ts")).newAgent(name, options, context);
  },
});

export const agents: Group = {
  name: "agents",
  summary: "list, show, check and write agents: files of this folder, of yours, of plugins",
  commands: [list, show, check, create],
  examples: ["retinue agents list", "retinue agents check"],
};
