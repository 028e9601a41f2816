/** `retinue permissions …`: what was answered for later sessions too. */
import { command, type Group } from "./command.ts";
import { home, json } from "./shared-fields.ts";
import { flag, folder, optional } from "./values.ts";

const load = () => import("../kept-answers.ts");

const list = command({
  name: "list",
  summary: "the answers that are kept: for each folder, and addresses",
  fields: { json, home },
  examples: ["retinue permissions list"],
  async run(input, context) {
    await (await load()).listKept(input, context);
  },
});

const forget = command({
  name: "forget",
  summary: "forget the answers that are kept for a folder; the exit code is 1 when there are none",
  more: "Sessions that are open keep the answers that they began with.",
  fields: {
    folder: {
      term: "[folder]",
      about: "a folder of the project (default: the current folder)",
      is: optional(folder),
    },
    addresses: { term: "--addresses", about: "forget the addresses that are always allowed instead", is: flag },
    json,
    home,
  },
  examples: ["retinue permissions forget", "retinue permissions forget --addresses"],
  async run({ folder: named, addresses, ...flags }, context) {
    return (await load()).forgetKept(addresses ? "addresses" : { named }, flags, context);
  },
});

export const permissions: Group = {
  name: "permissions",
  summary: "see and forget the answers that count for later sessions too",
  commands: [list, forget],
  examples: ["retinue permissions list", "retinue permissions forget"],
};
