/** Searches file contents with ripgrep. */
import { lazy } from "@retinue/protocol";
import * as z from "zod";
import { confirm } from "../files/checked-path.ts";
import { ripgrep } from "../files/ripgrep.ts";
import {
  leftOut,
  leftOutNote,
  listOf,
  pathForSearch,
  readPermission,
  type SearchPlace,
  searchPaths,
  searchPlace,
} from "../files/search-paths.ts";
import { refuseTooLong } from "../longest.ts";
import { boundOutput, type OutputLimit } from "../output.ts";
import { type CallContext, defineTool, failure, type Outcome, success, type Tool } from "../tool.ts";
import description from "./grep.md";

/** A line of a packed file can have a million characters. */
const MAX_COLUMNS = 2000;

const count = () => z.int().min(0).optional();

const input = lazy(() =>
  z.object({
    pattern: z.string().describe("Regular expression."),
    paths: searchPaths,
    path: z.string().optional().describe("The same as paths, for one."),
    output_mode: z.enum(["content", "files_with_matches", "count"]).optional().describe("What to give back."),
    glob: z.string().min(1).optional().describe("Only files that this matches."),
    type: z.string().min(1).optional().describe("Only files of this type."),
    "-i": z.boolean().optional().describe("Ignore case."),
    "-A": count().describe("Lines after a match."),
    "-B": count().describe("Lines before a match."),
    "-C": count().describe("Lines around a match."),
    "-n": z.boolean().optional().describe("Line numbers."),
    head_limit: z.int().min(1).optional().describe("At most so many lines."),
    multiline: z.boolean().optional().describe("Match over line breaks."),
  }),
);
type Input = z.output<ReturnType<typeof input>>;

export const grepTool = (limit: OutputLimit = {}): Tool =>
  defineTool({
    name: "grep",
    description,
    input,
    readOnly: true,
    prepare(args, context) {
      refuseTooLong("pattern", args.pattern);
      const places = listOf(args.paths ?? args.path).map((each) => searchPlace(each, context.workingDirectory));
      return {
        permission: readPermission(places, { ...context, what: "Search in directory" }),
        run: () => grep(args, places, { context, limit }),
      };
    },
  });

async function grep(
  args: Input,
  places: readonly SearchPlace[],
  { context, limit }: { context: CallContext; limit: OutputLimit },
): Promise<Outcome> {
  const { workingDirectory, tempFolder, signal } = context;
  const without = leftOut(places, context);
  places.forEach(confirm);
  const { lines, error, isCut } = await ripgrep({
    args: [...options(args), "--", args.pattern, ...places.map((each) => pathForSearch(each, workingDirectory))],
    cwd: workingDirectory,
    glob: args.glob,
    without,
    maxLines: args.head_limit,
    tempFolder,
    signal,
  });
  places.forEach(confirm); // What was found elsewhere meanwhile is not given away.
  const note = leftOutNote(without);
  if (lines.length === 0) return error === "" ? success(["No matches found.", note].join("\n").trim()) : failure(error);
  const notes = [isCut ? `[only the first ${lines.length} lines are shown]` : "", error, note].filter(
    (each) => each !== "",
  );
  const { text } = boundOutput([...lines, ...notes].join("\n"), {
    maxBytes: limit.maxBytes,
    tempFolder: limit.folder ?? tempFolder,
    name: "grep",
  });
  return success(text);
}

function options(args: Input): string[] {
  const general = [
    ...(args["-i"] ? ["--ignore-case"] : []),
    ...(args.multiline ? ["--multiline", "--multiline-dotall"] : []),
    ...(args.type === undefined ? [] : [`--type=${args.type}`]),
    "--with-filename",
  ];
  switch (args.output_mode) {
    case "content":
      return [...general, ...contentOptions(args)];
    case "count":
      return [...general, "--count"];
    default:
      return [...general, "--files-with-matches"];
  }
}

function contentOptions(args: Input): string[] {
  const around = (["-A", "-B", "-C"] as const).flatMap((flag) =>
    args[flag] === undefined ? [] : [`${flag}${args[flag]}`],
  );
  return [
    "--no-heading",
    `--max-columns=${MAX_COLUMNS}`,
    "--max-columns-preview",
    args["-n"] === false ? "--no-line-number" : "--line-number",
    ...around,
  ];
}
