/** Reads a text file or a part of it, an image, or the names in a folder. */
import { createReadStream, type Stats } from "node:fs";
import { open, readdir, readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import * as z from "zod";
import { contextDiff } from "../files/diff.ts";
import { linkTarget, resolvePath, statOf } from "../files/file-path.ts";
import { imageType } from "../files/image-type.ts";
import { boundOutput, DEFAULT_MAX_BYTES, type OutputLimit, sizeOf } from "../output.ts";
import { type CallContext, defineTool, failure, type Outcome, success, type Tool } from "../tool.ts";
import description from "./view.md";

const MAX_FORCED_BYTES = 10 * 1024 * 1024;
const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
const SNIFF_BYTES = 8192;

const input = z.object({
  path: z.string().describe("File or folder to read."),
  view_range: z
    .array(z.int())
    .length(2)
    .optional()
    .describe("First and last line, counted from 1; -1 as the last means the end of the file."),
  forceReadLargeFiles: z.boolean().optional().describe("Read a large file whole."),
});
type Input = z.output<typeof input>;

export const viewTool = (limit: OutputLimit = {}): Tool =>
  defineTool({
    name: "view",
    description,
    input,
    readOnly: true,
    prepare(args, context) {
      const path = resolvePath(args.path, context.workingDirectory);
      const isFolder = statOf(path)?.isDirectory() ?? false;
      return {
        permission: {
          kind: "read",
          toolCallId: context.callId,
          path,
          resolvedPath: linkTarget(path),
          intention: `${isFolder ? "List directory" : "Read file"}: ${path}`,
        },
        run: () => view(path, args, { context, limit }),
      };
    },
  });

async function view(
  path: string,
  args: Input,
  { context, limit }: { context: CallContext; limit: OutputLimit },
): Promise<Outcome> {
  const stats = statOf(path);
  if (!stats) return failure(`There is nothing at ${path}.`, { error: "Path does not exist" });
  if (stats.isDirectory()) return viewFolder(path, { context, limit });
  if (!stats.isFile()) return failure(`${path} is neither a file nor a folder, and cannot be read.`);
  const head = await firstBytes(path);
  const mimeType = imageType(head);
  if (mimeType) return viewImage(path, stats, mimeType);
  if (head.includes(0)) return failure(`${path} is a binary file (${sizeOf(stats.size)}); view reads text and images.`);
  return args.view_range ? viewPart(path, args.view_range, limit) : viewAll(path, stats, { args, limit });
}

async function viewFolder(
  path: string,
  { context, limit }: { context: CallContext; limit: OutputLimit },
): Promise<Outcome> {
  const names = (await readdir(path)).sort();
  const { text } = boundOutput(names.join("\n"), {
    maxBytes: limit.maxBytes,
    tempFolder: limit.folder ?? context.tempFolder,
    name: "view",
  });
  return success(names.length === 0 ? "The folder is empty." : text, { detail: contextDiff(path, names, 1) });
}

async function viewImage(path: string, stats: Stats, mimeType: string): Promise<Outcome> {
  if (stats.size > MAX_IMAGE_BYTES)
    return failure(`${path} is too large to look at (${sizeOf(stats.size)}); make it smaller first.`);
  const data = (await readFile(path)).toString("base64");
  return success("The image follows.", {
    detail: `Viewed image ${path}`,
    binary: [{ type: "image", data, mimeType, description: `Image file at path ${path}` }],
  });
}

async function viewAll(
  path: string,
  stats: Stats,
  { args, limit }: { args: Input; limit: OutputLimit },
): Promise<Outcome> {
  const most = args.forceReadLargeFiles ? MAX_FORCED_BYTES : (limit.maxBytes ?? DEFAULT_MAX_BYTES);
  if (stats.size > most) return tooLarge(stats.size, args.forceReadLargeFiles ?? false);
  const text = await readFile(path, "utf8");
  return success(text, { detail: contextDiff(path, text.replace(/\n$/, "").split("\n"), 1) });
}

const tooLarge = (size: number, wasForced: boolean) =>
  success(
    `File too large to read at once (${sizeOf(size)}). Read a part of it with view_range, or search it with grep.${
      wasForced ? "" : " To read it whole all the same, set forceReadLargeFiles."
    }`,
  );

/** Reads line by line and stops after the last one asked for, so that the size of the file does not matter. */
async function viewPart(path: string, [first = 1, last = -1]: readonly number[], limit: OutputLimit): Promise<Outcome> {
  const outOfBounds = (reason: string) =>
    failure(`view_range [${first}, ${last}] is not usable: ${reason}.`, { error: "view_range out of bounds" });
  if (first < 1) return outOfBounds("lines are counted from 1");
  if (last !== -1 && last < first) return outOfBounds("it ends before it begins");

  const { lines, seen, size } = await readLines(path, { first, last, maxBytes: limit.maxBytes ?? DEFAULT_MAX_BYTES });
  if (first > Math.max(seen, 1)) return outOfBounds(`the file has ${seen} lines`);
  if (size > (limit.maxBytes ?? DEFAULT_MAX_BYTES)) {
    return success(
      `Lines ${first} to ${last === -1 ? "the end" : last} are too large to read at once. Read fewer of them, or search with grep.`,
    );
  }
  return success(lines.join("\n"), { detail: contextDiff(path, lines, first) });
}

async function readLines(path: string, { first, last, maxBytes }: { first: number; last: number; maxBytes: number }) {
  const stream = createReadStream(path, "utf8");
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

async function firstBytes(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFF_BYTES), 0, SNIFF_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
