/** `retinue board`: what agents keep for later sessions of a repository, for the person to see and to change. */
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { visible } from "@retinue/protocol";
import { boardOfFolder } from "../host/board.ts";
import { makePrivateFolder, writePrivateFile } from "../store/private-files.ts";
import { type BoardLines, changeOf, linesOf } from "./board-lines.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import { editorOf, runEditor } from "./editor.ts";
import { openOwnRuntime } from "./own-runtime.ts";
import { mayHoldData, readInput } from "./piped-data.ts";
import { UsageError } from "./usage-error.ts";

export interface BoardFlags extends CommonFlags {
  folder?: string;
  branch?: string;
}

type OpenBoard = ReturnType<typeof boardOfFolder>;

async function withBoard<T>(
  flags: BoardFlags,
  { env, cwd }: CliContext,
  work: (board: OpenBoard, at: { home: string }) => Promise<T>,
): Promise<T> {
  const folder = resolve(cwd, flags.folder ?? ".");
  // Not the board of a repository around it: the name is a slip, or that of a branch.
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`there is no folder ${visible(folder)}; for a branch: --branch <name>`);
  await using own = openOwnRuntime({ env, home: flags.home });
  return await work(boardOfFolder(own.runtime.sessions.store, { folder, branch: flags.branch }), {
    home: own.runtime.config.home,
  });
}

export async function showBoard(flags: BoardFlags & { lines: boolean }, context: CliContext): Promise<void> {
  const { terminal } = context;
  await withBoard(flags, context, async (board) => {
    const [entries, others, isOff] = [await board.read(), await board.otherBranches(), await board.isOff()];
    if (flags.json) {
      const shown = { ...board.place, isOff, entries, otherBranches: others };
      return terminal.out(`${JSON.stringify(shown, null, 2)}\n`);
    }
    if (flags.lines) return terminal.out(linesOf(entries, nameOf(board)));
    if (isOff) return terminal.out(`${nameOf(board)} is switched off. To switch it on: retinue board on\n`);
    if (entries.length === 0) terminal.out(`${nameOf(board)} is empty.\n`);
    for (const { id, text, at, agent, sessionId } of entries) {
      const from = sessionId === undefined ? "" : `, session ${visible(sessionId.slice(0, 8))}`;
      terminal.out(`${id}  ${text}\n    ${visible(agent)}, ${new Date(at).toISOString().slice(0, 10)}${from}\n`);
    }
    for (const { branch, entries: count } of others)
      terminal.out(`\n${count} on ${branch === "" ? "no branch" : `the branch ${visible(branch)}`}`);
    if (others.length > 0) terminal.out("\n");
  });
}

/** Resolves with the exit code. What others have added meanwhile stays. */
export async function editBoard(flags: BoardFlags, context: CliContext): Promise<number> {
  const { terminal, env } = context;
  return await withBoard(flags, context, async (board, { home }) => {
    const shown = await board.read();
    const before = linesOf(shown, nameOf(board));
    const after = (await pipedText()) ?? (await editedText(before, { home, env }));
    const change = changeOf(after, shown);
    if (change.add.length + change.remove.length === 0) {
      report({ ...change, pruned: [] }, flags, context);
      return 0;
    }
    const { added, removed, pruned } = await board.edit({ ...change, by: { agent: "user" }, at: Date.now() });
    const ids = (entries: readonly { id: string }[]) => entries.map(({ id }) => id);
    report({ add: ids(added), remove: ids(removed), pruned: ids(pruned) }, flags, { ...context, terminal });
    return 0;
  });
}

export async function clearBoard(flags: BoardFlags & { yes: boolean }, context: CliContext): Promise<number> {
  const { terminal } = context;
  return await withBoard(flags, context, async (board) => {
    const count = await board.size(); // Also of one that is off: its notes are there, and go.
    if (
      count > 0 &&
      !flags.yes &&
      !(await confirmed(
        `Remove ${notes(count)} from ${nameOf(board).replace("The", "the").replace(/,$/, "")}?`,
        context,
      ))
    ) {
      terminal.note("Nothing was removed.");
      return 1;
    }
    const removed = await board.clear();
    if (flags.json) terminal.out(`${JSON.stringify({ ...board.place, removed }, null, 2)}\n`);
    else terminal.out(`Removed ${notes(removed)}.\n`);
    return 0;
  });
}

export async function switchBoard(to: "on" | "off", flags: BoardFlags, context: CliContext): Promise<void> {
  const { terminal } = context;
  await withBoard(flags, context, async (board) => {
    await board.switch(to, Date.now());
    const { repository } = board.place;
    if (flags.json) return terminal.out(`${JSON.stringify({ repository, isOff: to === "off" }, null, 2)}\n`);
    const rest = to === "off" ? "Nothing is shown or kept; what is on it stays." : "Agents may see it and add to it.";
    terminal.out(`The context board of ${visible(repository)} is ${to}, on every branch. ${rest}\n`);
  });
}

async function confirmed(question: string, { terminal }: CliContext): Promise<boolean> {
  if (!terminal.canAsk) throw new UsageError(`${question} Nobody can be asked here: add --yes`);
  return /^y/i.test((await terminal.ask(`${question} [y = yes, Enter = no] `)) ?? "");
}

/** How long a pipe that nobody writes to is waited for. */
const PATIENCE_MS = 3000;

/** Undefined when nothing came: an empty text would remove everything, and that has a command of its own. */
async function pipedText(): Promise<string | undefined> {
  if (!mayHoldData(process.stdin)) return undefined;
  const text = (await readInput(process.stdin, { patienceMs: PATIENCE_MS })).toString("utf8");
  return text.trim() === "" ? undefined : text;
}

async function editedText(before: string, { home, env }: { home: string } & Pick<CliContext, "env">): Promise<string> {
  const editor = editorOf(env);
  if (editor === undefined)
    throw new UsageError("set VISUAL or EDITOR to your editor, or give the lines on standard input");
  makePrivateFolder(home);
  const folder = mkdtempSync(join(home, ".edit-")); // In the home, which others cannot read.
  try {
    const file = join(folder, "board.txt");
    writePrivateFile(file, before);
    const code = await runEditor(editor, file);
    if (code !== 0) throw new UsageError(`the editor ended with code ${code}; nothing was changed`, 1);
    return readFileSync(file, "utf8");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function report(
  { add, remove, pruned }: BoardLines & { pruned: readonly string[] },
  { json }: BoardFlags,
  { terminal }: CliContext,
): void {
  terminal.out(
    json
      ? `${JSON.stringify({ added: add, removed: remove, pruned }, null, 2)}\n`
      : reportText({ add, remove, pruned }),
  );
}

function reportText({ add, remove, pruned }: BoardLines & { pruned: readonly string[] }): string {
  if (add.length + remove.length === 0) return "Nothing was changed.\n";
  const parts = [
    ...(add.length > 0 ? [`Added ${add.join(", ")}.`] : []),
    ...(remove.length > 0 ? [`Removed ${remove.join(", ")}.`] : []),
    ...(pruned.length > 0 ? [`The board was full, so its oldest notes are gone: ${pruned.join(", ")}.`] : []),
  ];
  return `${parts.join(" ")}\n`;
}

const notes = (count: number): string => `${count} ${count === 1 ? "note" : "notes"}`;

function nameOf({ place: { repository, branch } }: OpenBoard): string {
  return `The context board of ${visible(repository)}${branch === "" ? "" : `, branch ${visible(branch)},`}`;
}
