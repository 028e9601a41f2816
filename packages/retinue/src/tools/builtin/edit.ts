/** Replaces one piece of text, which must be in the file exactly once. */
import { closeSync, constants, ftruncateSync, readFileSync, writeSync } from "node:fs";
import { lazy, messageOf } from "@retinue/protocol";
import * as z from "zod";
import { type CheckedPath, checkedPath, isUnreadable, linkOf, openCheckedSync } from "../files/checked-path.ts";
import { countChanges, unifiedDiff } from "../files/diff.ts";
import { resolvePath } from "../files/file-path.ts";
import { has, occurrences } from "../files/occurrences.ts";
import { refuseTooLong } from "../longest.ts";
import { CallRefused, defineTool, failure, type Outcome, success, type Tool } from "../tool.ts";
import description from "./edit.md";

const MAX_LINES_NAMED = 20;
const MAX_COUNTED = 1_000;

const input = lazy(() =>
  z.object({
    path: z.string().describe("The file to change."),
    old_str: z.string().optional().describe("The text to replace, exactly as it is in the file."),
    new_str: z.string().optional().describe("The text to put there; absent: nothing."),
  }),
);
type Input = z.output<ReturnType<typeof input>>;

export const editTool = (): Tool =>
  defineTool({
    name: "edit",
    description,
    input,
    readOnly: false,
    async prepare(args, context) {
      refuseTooLong("path", args.path);
      const file = resolvePath(args.path, context.workingDirectory);
      const checked = checkedPath(file);
      if (isUnreadable(checked, context.rules.unreadable())) throw unreadable(file); // What fails below tells what is in the file.
      const { before, after } = inFile(checked, constants.O_RDONLY, (opened) =>
        edited(textOf(opened, file), file, args),
      );
      return {
        permission: {
          kind: "write",
          toolCallId: context.callId,
          intention: "Edit file",
          fileName: file,
          resolvedPath: linkOf(checked),
          diff: await unifiedDiff({ path: file, before, after }),
          newFileContents: after,
          canOfferSessionApproval: true,
        },
        run: () => write(checked, args),
      };
    },
  });

/**
 * Reads again and writes without waiting in between: another edit of the same file may have run since this one was prepared. Both go through
 * one open file, so that what is written is what was read.
 */
async function write(checked: CheckedPath, args: Input): Promise<Outcome> {
  const { path: file } = checked;
  const { before, after } = inFile(checked, constants.O_RDWR, (opened) => {
    const change = edited(textOf(opened, file), file, args);
    replaceContent(opened, change.after);
    return change;
  });
  const { removed, added } = await countChanges(before, after);
  return success(`Edited ${file} (lines removed: ${removed}, added: ${added}).`, {
    detail: await unifiedDiff({ path: file, before, after }),
  });
}

function inFile<T>(checked: CheckedPath, flags: number, work: (file: number) => T): T {
  let file: number;
  try {
    file = openCheckedSync(checked, flags);
  } catch (error) {
    throw error instanceof CallRefused ? error : new CallRefused(failure(messageOf(error)));
  }
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

function replaceContent(file: number, text: string): void {
  const bytes = Buffer.from(text);
  let at = 0;
  while (at < bytes.length) at += writeSync(file, bytes, at, bytes.length - at, at);
  ftruncateSync(file, bytes.length);
}

function edited(
  before: string,
  file: string,
  { old_str: old = "", new_str: fresh = "" }: Input,
): { before: string; after: string } {
  if (old === "" && before === "") return { before, after: fresh };
  if (old === "") throw refused("No match found", `old_str is empty, but ${file} is not. Name the text to replace.`);
  const [wanted, replacement] = inLineBreaksOf(before, old, fresh);
  const [at, another] = firstTwo(occurrences(before, wanted));
  if (at === undefined)
    throw refused("No match found", `old_str is not in ${file}. View the file, and copy the text exactly as it is.`);
  if (another !== undefined) throw refused("Multiple matches found", severalMatches(file, before, wanted));
  return { before, after: before.slice(0, at) + replacement + before.slice(at + wanted.length) };
}

function firstTwo(places: Iterable<number>): number[] {
  const found: number[] = [];
  for (const place of places) if (found.push(place) === 2) break;
  return found;
}

function textOf(opened: number, file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(opened);
  } catch (error) {
    throw new CallRefused(failure(messageOf(error)));
  }
  const text = bytes.toString("utf8");
  if (Buffer.from(text).equals(bytes)) return text;
  throw new CallRefused(failure(`${file} is not a UTF-8 text file; an edit would damage it.`));
}

/** Models write \n; a file with \r\n keeps its own. */
function inLineBreaksOf(text: string, old: string, fresh: string): [string, string] {
  if (!text.includes("\r\n") || has(text, old)) return [old, fresh];
  const convert = (part: string) => part.replace(/\r?\n/g, "\r\n");
  return [convert(old), convert(fresh)];
}

function severalMatches(file: string, text: string, wanted: string): string {
  const lines: number[] = [];
  let line = 1;
  let from = 0;
  for (const at of occurrences(text, wanted)) {
    for (; from < at; from++) if (text[from] === "\n") line++;
    if (lines.push(line) > MAX_COUNTED) break;
  }
  const named = lines.slice(0, MAX_LINES_NAMED).join(", ") + (lines.length > MAX_LINES_NAMED ? ", …" : "");
  const times = lines.length > MAX_COUNTED ? `more than ${MAX_COUNTED}` : lines.length;
  return `old_str is in ${file} ${times} times, at lines ${named}. Add text around it until it is unique.`;
}

const refused = (error: string, text: string) => new CallRefused(failure(text, { error }));

const unreadable = (file: string) =>
  new CallRefused({
    resultType: "denied",
    text: `A rule denies reading ${file}, so it cannot be edited. Do it another way, or ask the user.`,
  });
