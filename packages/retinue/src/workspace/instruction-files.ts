/**
 * Instruction files of one folder, read within bounds: AGENTS.md, CLAUDE.md and .github/copilot-instructions.md, and those of
 * .github/instructions that say which files they are for.
 */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { type InstructionSource, lazy, visible } from "@retinue/protocol";
import * as z from "zod";
import { mistakesOf, parseFrontMatter } from "../agents/front-matter.ts";
import { misspelt } from "../agents/unknown-keys.ts";
import { fileStamp } from "../project/file-stamp.ts";
import { isThere } from "../project/root.ts";
import { checkFolder, readTextFile } from "../project/text-file.ts";

export interface InstructionFile {
  path: string;
  text: string;
  type: InstructionSource["type"];
  location: InstructionSource["location"];
  /** Globs, relative to the project. Absent: it counts for everything. */
  applyTo?: readonly string[];
  description?: string;
}

export interface FolderOptions extends Pick<InstructionFile, "type" | "location"> {
  /** The real path of the project that the files must lie in. */
  within?: string;
  warn(message: string): void;
}

const FILES = ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"];
const MAX_BYTES = 120_000;
const MAX_CHARACTERS = 30_000;
const MAX_FILES = 100;

export function filesOf(folder: string, options: FolderOptions): InstructionFile[] {
  return FILES.flatMap((name) => {
    const path = join(folder, name);
    const text = read(path, options);
    return text === undefined || text.trim() === ""
      ? []
      : [{ path, text, type: options.type, location: options.location }];
  });
}

const globs = lazy(() =>
  z.union([z.array(z.string()), z.string().transform(commaSeparated)], {
    error: "expected globs, as a list or with commas between them",
  }),
);
const head = lazy(() =>
  z.object({ applyTo: globs().optional(), description: z.string().optional(), name: z.string().optional() }),
);

/** A comma in braces belongs to the glob. */
function commaSeparated(text: string): string[] {
  const globs = [""];
  let depth = 0;
  for (const character of text) {
    if (character === "{") depth++;
    if (character === "}") depth = Math.max(0, depth - 1);
    if (character === "," && depth === 0) globs.push("");
    else globs.push(`${globs.pop() ?? ""}${character}`);
  }
  return globs;
}

/** `.github/instructions/*.instructions.md`. Without an `applyTo`, or with one for everything, they count for everything. */
export function filesForKinds(folder: string, options: FolderOptions): InstructionFile[] {
  return namesIn(join(folder, ".github/instructions"), options).flatMap((path) => {
    const text = read(path, options);
    if (text === undefined) return [];
    try {
      const { head: fields, body, data, lineOf } = parseFrontMatter(text, head(), { file: path });
      for (const { key, words } of misspelt(data, Object.keys(head().shape)))
        options.warn(visible(`${path}:${lineOf([key])}: ${words}`));
      const given = fields.applyTo?.map((glob) => glob.trim()).filter((glob) => glob !== "") ?? [];
      const isForAll = given.length === 0 || given.some((glob) => /^(\*|\*\*|\*\*\/\*)$/.test(glob));
      const { description = basename(path).replace(/\.instructions\.md$/, "") } = fields;
      const file = { path, text: body, type: options.type, location: options.location, description };
      return body === "" ? [] : [isForAll ? file : { ...file, applyTo: given }];
    } catch (error) {
      for (const mistake of mistakesOf(error)) options.warn(visible(`${mistake}. It is left out.`));
      return [];
    }
  });
}

/** Differs after one of the files that a folder can have has changed, come or gone. */
export function stampOf(folder: string): string {
  const own = FILES.map((name) => join(folder, name));
  const quiet = { warn: () => undefined };
  return fileStamp([...own, ...namesIn(join(folder, ".github/instructions"), quiet)]);
}

function namesIn(folder: string, { within, warn }: Pick<FolderOptions, "within" | "warn">): string[] {
  if (!isThere(folder)) return [];
  try {
    checkFolder(folder, within);
    const names = readdirSync(folder).filter((name) => name.endsWith(".instructions.md"));
    if (names.length > MAX_FILES)
      warn(visible(`${folder}: only the first ${MAX_FILES} of ${names.length} files of instructions are read.`));
    return names
      .sort()
      .slice(0, MAX_FILES)
      .map((name) => join(folder, name));
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && /^(ENOENT|ENOTDIR)$/.test(String(error.code));
    if (!isMissing) for (const mistake of mistakesOf(error)) warn(visible(`${mistake}.`));
    return [];
  }
}

function read(path: string, { within, warn }: FolderOptions): string | undefined {
  try {
    const file = readTextFile(path, { maxBytes: MAX_BYTES, within });
    if (!file) return undefined;
    const text = file.text.slice(0, MAX_CHARACTERS);
    if (file.isCut || text.length < file.text.length)
      warn(visible(`${path} is long: only its first ${MAX_CHARACTERS} characters count.`));
    return text;
  } catch (error) {
    for (const mistake of mistakesOf(error)) warn(visible(`${mistake}.`));
    return undefined;
  }
}
