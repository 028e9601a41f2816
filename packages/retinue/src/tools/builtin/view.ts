/** Reads a text file or a part of it, an image, or the names in a folder. */

import { readdirSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { lazy } from "@retinue/protocol";
import * as z from "zod";
import { foldedPath, isBelowAny } from "../../real-path.ts";
import { type CheckedPath, checkedPath, confirm, linkOf, openChecked } from "../files/checked-path.ts";
import { contextDiff } from "../files/diff.ts";
import { resolvePath, statOf } from "../files/file-path.ts";
import { imageType, MAX_IMAGE_BYTES } from "../files/image-type.ts";
import { leftOutNote } from "../files/search-paths.ts";
import { refuseTooLong } from "../longest.ts";
import { boundOutput, DEFAULT_MAX_BYTES, type OutputLimit, sizeOf } from "../output.ts";
import { type CallContext, defineTool, failure, type Outcome, success, type Tool } from "../tool.ts";
import description from "./view.md";

const MAX_FORCED_BYTES = 10 * 1024 * 1024;
const SNIFF_BYTES = 8192;

const input = lazy(() =>
  z.object({
    path: z.string().describe("File or folder to read."),
    view_range: z
      .array(z.int())
      .length(2)
      .optional()
      .describe("First and last line, counted from 1; -1 as the last means the end of the file."),
    forceReadLargeFiles: z.boolean().optional().describe("Read a large file whole."),
  }),
);
type Input = z.output<ReturnType<typeof input>>;

export const viewTool = (limit: OutputLimit = {}): Tool =>
  defineTool({
    name: "view",
    description,
    input,
    readOnly: true,
    prepare(args, context) {
      refuseTooLong("path", args.path);
      const checked = checkedPath(resolvePath(args.path, context.workingDirectory));
      const { path } = checked;
      const isFolder = statOf(path)?.isDirectory() ?? false;
      return {
        permission: {
          kind: "read",
          toolCallId: context.callId,
          path,
          resolvedPath: linkOf(checked),
          intention: `${isFolder ? "List directory" : "Read file"}: ${path}`,
        },
        run: () => view(checked, args, { context, limit }),
      };
    },
  });

async function view(
  checked: CheckedPath,
  args: Input,
  { context, limit }: { context: CallContext; limit: OutputLimit },
): Promise<Outcome> {
  const { path } = checked;
  confirm(checked);
  const stats = statOf(checked.target);
  if (!stats) return failure(`There is nothing at ${path}.`, { error: "Path does not exist" });
  if (stats.isDirectory()) return viewFolder(checked, { context, limit });
  if (!stats.isFile()) return failure(`${path} is neither a file nor a folder, and cannot be read.`);
  const file = await openChecked(checked);
  try {
    return await viewFile({ path, file, size: (await file.stat()).size }, args, limit);
  } finally {
    await file.close();
  }
}

/** Everything is read from the file that was opened, whatever happens to its path meanwhile. */
interface Opened {
  path: string;
  file: FileHandle;
  size: number;
}

async function viewFile(opened: Opened, args: Input, limit: OutputLimit): Promise<Outcome> {
  const { path, size } = opened;
  const head = await firstBytes(opened.file);
  const mimeType = imageType(head);
  if (mimeType) return viewImage(opened, mimeType);
  if (head.includes(0)) return failure(`${path} is a binary file (${sizeOf(size)}); view reads text and images.`);
  return args.view_range ? viewPart(opened, args.view_range, limit) : viewAll(opened, { args, limit });
}

function viewFolder(checked: CheckedPath, { context, limit }: { context: CallContext; limit: OutputLimit }): Outcome {
  const { path, target } = checked;
  const all = readdirSync(target).sort();
  confirm(checked);
  const denied = context.rules.unreadable().filter((each) => foldedPath(dirname(each)) === foldedPath(target));
  const names = all.filter((name) => !isBelowAny(join(target, name), denied));
  const note = leftOutNote(denied);
  const { text } = boundOutput([...names, ...(note ? [note] : [])].join("\n"), {
    maxBytes: limit.maxBytes,
    tempFolder: limit.folder ?? context.tempFolder,
    name: "view",
  });
  return success(text === "" ? "The folder is empty." : text, { detail: contextDiff(path, names, 1) });
}

async function viewImage({ path, file, size }: Opened, mimeType: string): Promise<Outcome> {
  if (size > MAX_IMAGE_BYTES)
    return failure(`${path} is too large to look at (${sizeOf(size)}); make it smaller first.`);
  const data = (await bytesOf(file)).toString("base64");
  return success("The image follows.", {
    detail: `Viewed image ${path}`,
    binary: [{ type: "image", data, mimeType, description: `Image file at path ${path}` }],
  });
}

async function viewAll(
  { path, file, size }: Opened,
  { args, limit }: { args: Input; limit: OutputLimit },
): Promise<Outcome> {
  const most = args.forceReadLargeFiles ? MAX_FORCED_BYTES : (limit.maxBytes ?? DEFAULT_MAX_BYTES);
  if (size > most) return tooLarge(size, args.forceReadLargeFiles ?? false);
  const text = (await bytesOf(file)).toString("utf8");
  return success(text, { detail: contextDiff(path, text.replace(/\n$/, "").split("\n"), 1) });
}

const tooLarge = (size: number, wasForced: boolean) =>
  success(
    `File too large to read at once (${sizeOf(size)}). Read a part of it with view_range, or search it with grep.${
      wasForced ? "" : " To read it whole all the same, set forceReadLargeFiles."
    }`,
  );

/** Reads line by line and stops after the last one asked for, so that the size of the file does not matter. */
async function viewPart(
  { path, file }: Opened,
  [first = 1, last = -1]: readonly number[],
  limit: OutputLimit,
): Promise<Outcome> {
  const outOfBounds = (reason: string) =>
    failure(`view_range [${first}, ${last}] is not usable: ${reason}.`, { error: "view_range out of bounds" });
  if (first < 1) return outOfBounds("lines are counted from 1");
  if (last !== -1 && last < first) return outOfBounds("it ends before it begins");

  const { lines, seen, size } = await readLines(file, { first, last, maxBytes: limit.maxBytes ?? DEFAULT_MAX_BYTES });
  if (first > Math.max(seen, 1)) return outOfBounds(`the file has ${seen} lines`);
  if (size > (limit.maxBytes ?? DEFAULT_MAX_BYTES)) {
    return success(
      `Lines ${first} to ${last === -1 ? "the end" : last} are too large to read at once. Read fewer of them, or search with grep.`,
    );
  }
  return success(lines.join("\n"), { detail: contextDiff(path, lines, first) });
}

async function readLines(
  file: FileHandle,
  { first, last, maxBytes }: { first: number; last: number; maxBytes: number },
) {
  const stream = file.createReadStream({ start: 0, encoding: "utf8", autoClose: false });
  const reader = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  const lines: string[] = [];
  let seen = 0;
  let size = 0;
  for await (const line of reader) {
    seen++;
    if (seen < first) continue;
    lines.push(line);
    size += Buffer.byteLength(line) + 1;
    if (seen === last || size > maxBytes) break;
  }
  stream.destroy();
  return { lines, seen, size };
}

async function firstBytes(file: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFF_BYTES), 0, SNIFF_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

/** From the beginning, wherever the file was read before. */
async function bytesOf(file: FileHandle): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false })) chunks.push(chunk);
  return Buffer.concat(chunks);
}
