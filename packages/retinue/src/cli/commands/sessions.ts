/** `retinue sessions …`: the stored sessions. */

import { wholeNumber } from "./checked-values.ts";
import { command, type Field, type Group } from "./command.ts";
import { home, json, yes } from "./shared-fields.ts";
import { flag, otherwise, text, words } from "./values.ts";

const load = () => import("../sessions.ts");
const session = { term: "<session>", about: "the beginning of its id", is: text } satisfies Field;

const list = command({
  name: "list",
  summary: "the sessions, last used first",
  fields: {
    all: { term: "--all", about: "all of them", is: flag },
    limit: {
      term: "--limit <n>",
      about: "at most this many (default: 20)",
      is: otherwise(20, wholeNumber({ from: 1 })),
    },
    json,
    home,
  },
  examples: ["retinue sessions list --limit 5"],
  async run(input, context) {
    await (await load()).listSessions(input, context);
  },
});

const show = command({
  name: "show",
  summary: "print the conversation of a session; with --json its stored events, one per line",
  fields: { session, json, home },
  examples: ["retinue sessions show 3f2a"],
  async run({ session: id, ...flags }, context) {
    await (await load()).showSession(id, flags, context);
  },
});

const tree = command({
  name: "tree",
  summary: "draw the agents of a session, with times and usage",
  fields: { session, json, home },
  examples: ["retinue sessions tree 3f2a"],
  async run({ session: id, ...flags }, context) {
    await (await load()).drawTree(id, flags, context);
  },
});

const remove = command({
  name: "delete",
  summary: "delete sessions with everything that belongs to them, after asking",
  fields: { ids: { term: "<session...>", about: "the beginning of each id", is: words }, yes, json, home },
  examples: ["retinue sessions delete 3f2a 909b --yes"],
  async run({ ids, ...flags }, context) {
    await (await load()).deleteSessions(ids, flags, context);
  },
});

export const sessions: Group = {
  name: "sessions",
  summary: "list, show, draw and delete stored sessions",
  more: "Ids can be shortened as long as they stay unique.",
  commands: [list, show, tree, remove],
  examples: ["retinue sessions list", "retinue sessions tree 3f2a"],
};
