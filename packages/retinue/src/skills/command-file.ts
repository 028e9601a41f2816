/**
 * Slash commands in files: Markdown whose text becomes the prompt, with what was typed behind the name put in.
 *
 * One reader for those of the user, of a project and of plugins. A folder inside the folder is a namespace: `git/tidy.md` is `/git:tidy`. Nothing
 * in a file runs anything, and nothing in it permits anything.
 */
import { type Dirent, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { lazy, messageOf, visible } from "@retinue/protocol";
import * as z from "zod";
import { PLACES, userPlaces } from "../agents/catalog.ts";
import { parseFrontMatter } from "../agents/front-matter.ts";
import { placesOf } from "../project/root.ts";
import { checkFolder, readWholeTextFile } from "../project/text-file.ts";

export interface FileCommand {
  name: string;
  description: string;
  argumentHint?: string;
  text: string;
  /** What the head says and what has no effect here. */
  unused: readonly string[];
}

export interface CommandFolder {
  source: "user" | "project";
  path: string;
  /** Only names that end like this. */
  suffix: ".md" | ".prompt.md";
  /** The project that the files must lie in. */
  within?: string;
}

const MAX_COMMANDS = 100;
const MAX_BYTES = 64 * 1024;
const MAX_DEPTH = 3;
const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)*$/u;

/** Where commands are looked for, first rank first. A project is given only where a person trusts it. */
export function commandFolders({
  home,
  enableConfigDiscovery,
  project,
}: {
  home: string;
  enableConfigDiscovery: boolean;
  project?: { folder: string; root: string };
}): CommandFolder[] {
  if (!enableConfigDiscovery) return [];
  const own = userPlaces(home, { withOthers: true })
    .reverse()
    .map((place): CommandFolder => ({ source: "user", path: join(place, "commands"), suffix: ".md" }));
  const ofProject = (project ? placesOf(project).reverse() : []).flatMap((folder): CommandFolder[] => {
    const common = { source: "project" as const, within: project?.root };
    const places = [...PLACES].reverse().map((place) => join(folder, place, "commands"));
    return [
      ...places.map((path) => ({ ...common, path, suffix: ".md" as const })),
      { ...common, path: join(folder, ".github", "prompts"), suffix: ".prompt.md" },
    ];
  });
  return [...own, ...ofProject.filter(({ path }) => !own.some((each) => each.path === path))];
}

export interface ReadOptions {
  suffix?: CommandFolder["suffix"];
  within?: string;
  /** Whose commands they are, for problems. */
  owner: string;
  problems: string[];
}

/** The commands in a folder, or the one in a file. */
export function readCommandFiles(path: string, options: ReadOptions): FileCommand[] {
  const { problems, owner, suffix = ".md" } = options;
  try {
    checkFolder(path, options.within);
    const files = filesIn(path, suffix);
    if (files.length > MAX_COMMANDS)
      problems.push(visible(`${owner}: only the first ${MAX_COMMANDS} of ${files.length} commands are read`));
    return files.slice(0, MAX_COMMANDS).flatMap((each) => readCommand(each, options));
  } catch (error) {
    problems.push(visible(messageOf(error)));
    return [];
  }
}

interface Found {
  file: string;
  names: readonly string[];
}

function filesIn(path: string, suffix: string, above: readonly string[] = []): Found[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isDirectory())
    return found && path.endsWith(suffix) ? [{ file: path, names: [basename(path, suffix)] }] : [];
  const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    if (isFile(entry, suffix))
      return [{ file: join(path, entry.name), names: [...above, basename(entry.name, suffix)] }];
    const isDeep = entry.isDirectory() && above.length < MAX_DEPTH; // A link to a folder is none.
    return isDeep ? filesIn(join(path, entry.name), suffix, [...above, entry.name]) : [];
  });
}

const isFile = (entry: Dirent, suffix: string): boolean =>
  !entry.isDirectory() && entry.name.endsWith(suffix) && !/^readme\.md$/i.test(entry.name);

const Head = lazy(() =>
  z.looseObject({
    description: z.string().optional(),
    "argument-hint": z.union([z.string(), z.array(z.string())]).optional(),
  }),
);

const USED = new Set(["name", "description", "argument-hint"]);

function readCommand({ file, names }: Found, { within, owner, problems }: ReadOptions): FileCommand[] {
  try {
    if (!names.every((name) => NAME.test(name))) throw new Error(`${file}: its name is none that could be typed`);
    const text = readWholeTextFile(file, { maxBytes: MAX_BYTES, within }) ?? "";
    const { head, body } = parseFrontMatter(text, Head(), { file });
    if (body.trim() === "") throw new Error(`${file}: there is no text in it that could be a prompt`);
    const argumentHint = [head["argument-hint"] ?? []].flat().join(" ") || undefined;
    const description = head.description ?? body.trim().split("\n")[0]?.slice(0, 200) ?? "";
    const unused = Object.keys(head).filter((key) => !USED.has(key));
    return [{ name: names.join(":"), description, argumentHint, text: body, unused }];
  } catch (error) {
    problems.push(visible(`${owner}: ${messageOf(error)}`));
    return [];
  }
}

/** `$ARGUMENTS` is all that was typed, `$1` the first word. What a text has no place for stands behind it. */
export function promptOf({ text }: Pick<FileCommand, "text">, typed: string): string {
  const words = typed.split(/\s+/).filter(Boolean);
  const hasPlace = /\$(?:ARGUMENTS|[1-9])/.test(text);
  const filled = text.replaceAll(/\$(?:ARGUMENTS|([1-9]))/g, (_, place) =>
    place === undefined ? typed : (words[Number(place) - 1] ?? ""),
  );
  return hasPlace || typed === "" ? filled : `${filled}\n\n${typed}`;
}

/** Undefined when everything in the head has its effect. */
export function unusedWords({ name, unused }: Pick<FileCommand, "name" | "unused">): string | undefined {
  if (unused.length === 0) return undefined;
  return `The head of /${name} has ${unused.join(", ")}, which ${unused.length === 1 ? "has" : "have"} no effect: tools are allowed by rules and people, and the model is the session's.`;
}
