/** Finds files by name, with ripgrep's idea of which files a project has. */

import path from "node:path";
import { lazy } from "@retinue/protocol";
import * as z from "zod";
import { confirm } from "../files/checked-path.ts";
import { type Found, ripgrep } from "../files/ripgrep.ts";
import {
  leftOut,
  leftOutNote,
  listOf,
  readPermission,
  type SearchPlace,
  searchPaths,
  searchPlace,
} from "../files/search-paths.ts";
import { refuseTooLong } from "../longest.ts";
import { boundOutput, type OutputLimit } from "../output.ts";
import { type CallContext, defineTool, failure, type Outcome, success, type Tool } from "../tool.ts";
import description from "./glob.md";

const input = lazy(() =>
  z.object({
    pattern: z.string().min(1).describe("Glob pattern."),
    paths: searchPaths,
    path: z.string().optional().describe("The same as paths, for one."),
  }),
);

interface Place {
  folder: SearchPlace;
  pattern: string;
}

export const globTool = (limit: OutputLimit = {}): Tool =>
  defineTool({
    name: "glob",
    description,
    input,
    readOnly: true,
    prepare(args, context) {
      refuseTooLong("pattern", args.pattern);
      const places = listOf(args.paths ?? args.path).map((each) => {
        const { folder, pattern } = placeOf(each, args.pattern);
        return { folder: searchPlace(folder, context.workingDirectory), pattern };
      });
      return {
        permission: readPermission(
          places.map((place) => place.folder),
          { ...context, what: "Search for files matching pattern in" },
        ),
        run: () => glob(places, { context, limit }),
      };
    },
  });

/** A pattern that leaves the searched folder is searched from the fixed folders at its beginning. */
function placeOf(folder: string, pattern: string): { folder: string; pattern: string } {
  if (!/^(\/|~\/|\.\.\/)/.test(pattern)) return { folder, pattern };
  const parts = pattern.split("/");
  const firstGlob = parts.findIndex((part) => /[*?[{]/.test(part));
  const fixed = parts.slice(0, firstGlob < 0 ? -1 : firstGlob).join("/");
  const rest = parts.slice(firstGlob < 0 ? -1 : firstGlob).join("/");
  const isOwnStart = pattern.startsWith("/") || pattern.startsWith("~");
  // The slash keeps a single name from matching in every folder.
  return { folder: isOwnStart ? fixed || "/" : path.join(folder, fixed), pattern: `/${rest}` };
}

async function glob(
  places: readonly Place[],
  { context, limit }: { context: CallContext; limit: OutputLimit },
): Promise<Outcome> {
  const folders = places.map(({ folder }) => folder);
  const without = leftOut(folders, context);
  folders.forEach(confirm);
  const found = await Promise.all(places.map((place) => filesAt(place, without, context)));
  folders.forEach(confirm); // What was found elsewhere meanwhile is not given away.
  const note = leftOutNote(without);
  const lines = [...new Set(found.flatMap((each) => each.lines))];
  const errors = found.map((each) => each.error).filter((error) => error !== "");
  if (lines.length === 0)
    return errors.length > 0
      ? failure(errors.join("\n"))
      : success(["No file matches the pattern.", note].join("\n").trim());
  const { text } = boundOutput([...lines.sort(), ...(note ? [note] : [])].join("\n"), {
    maxBytes: limit.maxBytes,
    tempFolder: limit.folder ?? context.tempFolder,
    name: "glob",
  });
  return success(text);
}

async function filesAt(
  { folder, pattern }: Place,
  without: readonly string[],
  { tempFolder, signal }: CallContext,
): Promise<Found> {
  const cwd = folder.target;
  try {
    const found = await ripgrep({ args: ["--files", "."], cwd, glob: pattern, without, tempFolder, signal });
    return { ...found, lines: found.lines.map((line) => named(folder.given, line)) };
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || (error.code !== "ENOENT" && error.code !== "ENOTDIR"))
      throw error;
    return { lines: [], error: `There is no folder ${cwd}.`, isCut: false };
  }
}

/** `./a` in the working folder, and below any other folder as that was given. */
const named = (folder: string, line: string) => (folder === "." ? line : path.join(folder, line));
