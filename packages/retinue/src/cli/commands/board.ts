/** `retinue board …`: the notes that agents keep for later sessions of a repository. */
import { command, type Field, type Group } from "./command.ts";
import { home, json, yes } from "./shared-fields.ts";
import { flag, folder, optional, text } from "./values.ts";

const load = () => import("../board.ts");
const place = {
  folder: {
    term: "[folder]",
    about: "a folder of the repository (default: the current folder)",
    is: optional(folder),
  },
  branch: {
    term: "--branch <name>",
    about: "the board of this branch (default: the one that is checked out)",
    is: optional(text),
  },
} satisfies Record<string, Field>;

const show = command({
  name: "show",
  summary: "print the notes of this repository and branch",
  fields: {
    ...place,
    lines: { term: "--lines", about: "as the lines that edit takes", is: flag },
    json,
    home,
  },
  examples: ["retinue board show", "retinue board show --branch main --json"],
  async run(flags, context) {
    await (await load()).showBoard(flags, context);
  },
});

const edit = command({
  name: "edit",
  summary: "change the notes in your editor, or by lines on standard input",
  more: "VISUAL or EDITOR names the editor. The lines are the whole board: a note without its line is removed. What agents add meanwhile stays.",
  fields: { ...place, json, home },
  examples: ["retinue board edit", "retinue board edit --branch main"],
  async run(flags, context) {
    return (await load()).editBoard(flags, context);
  },
});

const clear = command({
  name: "clear",
  summary: "remove all notes of this repository and branch, after asking",
  fields: { ...place, yes, json, home },
  examples: ["retinue board clear --yes"],
  async run(flags, context) {
    return (await load()).clearBoard(flags, context);
  },
});

const off = command({
  name: "off",
  summary: "show agents nothing of this repository's notes, and keep nothing, on any branch",
  fields: { folder: place.folder, json, home },
  examples: ["retinue board off"],
  async run(flags, context) {
    await (await load()).switchBoard("off", flags, context);
  },
});

const on = command({
  name: "on",
  summary: "use the notes of this repository again",
  fields: { folder: place.folder, json, home },
  examples: ["retinue board on"],
  async run(flags, context) {
    await (await load()).switchBoard("on", flags, context);
  },
});

export const board: Group = {
  name: "board",
  summary: "the notes that agents keep for later sessions of a repository: show, edit, clear, off and on",
  commands: [show, edit, clear, off, on],
  examples: ["retinue board show", "retinue board off"],
};
