/** `context_board`: agents read and keep notes for later sessions of the repository. */
import { AppError, lazy } from "@retinue/protocol";
import * as z from "zod";
import type { BoardChanged } from "../../store/boards.ts";
import { CallRefused, defineTool, failure, type Outcome, success, type Tool } from "../../tools/tool.ts";
import { boardText, entryLine } from "../recall/board-words.ts";
import words from "../recall/context-board.md";
import { type Author, Board, type BoardStore, noteOf } from "../records/board.ts";

const input = lazy(() =>
  z.object({
    command: z.enum(["get", "add", "prune", "get_board"]),
    id: z.string().optional().describe("For get: the note, such as note-12."),
    text: z.string().optional().describe("For add: the note."),
    ids: z
      .array(z.string())
      .max(100)
      .optional()
      .describe("For prune: the notes to remove. For add: those that it replaces."),
    branch: z.string().optional().describe("For get_board: another branch of this repository."),
  }),
);
type Input = z.output<ReturnType<typeof input>>;

export interface BoardToolOptions {
  store: BoardStore;
  /** The board of the session now: its branch may change while it works. */
  place(): Promise<Board["place"]>;
  author(): Promise<Author>;
  now(): number;
}

export function contextBoardTool(options: BoardToolOptions): Tool {
  return defineTool({
    name: "context_board",
    description: words.trim(),
    input,
    readOnly: false,
    prepare(args) {
      const run = () => inWords(() => COMMANDS[args.command](args, options));
      if (args.command === "get" || args.command === "get_board") return { run };
      // Nobody is asked for a note, but a rule against `memory`, or a hook, may say no.
      return { run, needsNoAsk: true, permission: { kind: "memory", action: "store", ...subject(args) } };
    },
  });
}

/** What a rule or a hook sees: the note as it would be kept. Refuses what cannot be one, before anything is asked. */
function subject({ command, text, ids = [] }: Input): { subject: string; fact: string } {
  if (command === "prune") {
    if (ids.length === 0) throw refused('"ids": Required for prune');
    return { subject: "context board", fact: `Remove ${ids.join(", ")}` };
  }
  if (text === undefined) throw refused('"text": Required for add');
  try {
    return { subject: "context board", fact: noteOf(text) };
  } catch (error) {
    if (error instanceof AppError) throw refused(error.message);
    throw error;
  }
}

const refused = (words: string): CallRefused => new CallRefused(failure(words));

type Run = (args: Input, options: BoardToolOptions) => Promise<Outcome>;

const COMMANDS: Record<Input["command"], Run> = {
  async get({ id }, options) {
    if (id === undefined) return failure('"id": Required for get');
    const found = (await (await boardOf(options)).read()).find((entry) => entry.id === id);
    return found ? success(entryLine(found)) : failure(`There is no note ${id} on this board.`);
  },
  async get_board({ branch }, options) {
    const board = await boardOf(options, branch);
    if (await board.isOff()) return failure("The context board of this repository is switched off.");
    const [entries, others] = [await board.read(), await board.otherBranches()];
    return success(boardText({ place: board.place, entries, others }));
  },
  async add({ text = "", ids }, options) {
    const board = await boardOf(options);
    const { added, ...gone } = await board.edit({
      add: [text],
      remove: ids,
      by: await options.author(),
      at: options.now(),
    });
    return success([`Kept as ${added.map(({ id }) => id).join(", ")}.`, ...goneWords(gone, ids)].join(" "));
  },
  async prune({ ids = [] }, options) {
    const changed = await (await boardOf(options)).edit({ remove: ids, by: await options.author(), at: options.now() });
    const text = goneWords(changed, ids).join(" ");
    return changed.removed.length > 0 ? success(text) : failure(text);
  },
};

async function boardOf({ store, place }: BoardToolOptions, branch?: string): Promise<Board> {
  const own = await place();
  return new Board(store, branch === undefined ? own : { ...own, branch });
}

function goneWords(
  { removed, pruned }: Pick<BoardChanged, "removed" | "pruned">,
  ids: readonly string[] = [],
): string[] {
  const missing = ids.filter((id) => removed.every((entry) => entry.id !== id));
  return [
    ...(removed.length > 0 ? [`Removed ${removed.map(({ id }) => id).join(", ")}.`] : []),
    ...(missing.length > 0 ? [`Not on this board: ${missing.join(", ")}.`] : []),
    ...(pruned.length > 0
      ? [`The board was full, so its oldest notes are gone: ${pruned.map(({ id }) => id).join(", ")}.`]
      : []),
  ];
}

/** What the model can act on becomes its result. */
async function inWords(work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError && error.code !== "internal") return failure(error.message);
    throw error;
  }
}
