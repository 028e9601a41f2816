/**
 * Instructions of a project for agents: AGENTS.md and similar files, from the root of the repository down to the working folder, and
 * from folders that the host names. What is for certain files, or lies deeper, comes with the first call about such a file.
 *
 * They are words for the model and need no trust, as little as any other file that it reads. But a repository must not be able to put other
 * files of the machine into the prompt, or to keep the session from starting.
 */
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { InstructionSource, SessionConfig } from "@retinue/protocol";
import { projectRootOf } from "../project/root.ts";
import { isBelowAny, isWithin, realPath } from "../real-path.ts";
import { matchesGlob } from "./glob-match.ts";
import { filesForKinds, filesOf, type InstructionFile } from "./instruction-files.ts";

export interface Instructions {
  /** Without the files that a rule denies to read. Rules come later than the files are found. */
  text(unreadable: readonly string[]): string | undefined;
  /** What counts for a file besides, as blocks for the model by their path. */
  forFile(file: string, unreadable: readonly string[]): ReadonlyMap<string, string>;
  sources(): InstructionSource[];
  /** Files that were refused or cut. */
  readonly warnings: readonly string[];
}

const NONE: Instructions = { text: () => undefined, forFile: () => new Map(), sources: () => [], warnings: [] };
/** A deeper folder is somebody's way to keep us busy. */
const MAX_DEPTH = 30;

/** Found only where the host allows it; `instructionDirectories` are always read. */
export function readInstructions(config: SessionConfig, cwd: string, gitRoot: string | undefined): Instructions {
  if (config.skipCustomInstructions) return NONE;
  const warnings: string[] = [];
  const found = config.enableConfigDiscovery ? discover(cwd, { root: gitRoot ?? cwd, warnings }) : [];
  const warn = (message: string) => warnings.push(message);
  const given = (config.instructionDirectories ?? []).flatMap((folder) =>
    filesOf(folder, { type: "repo", location: "working-directory", warn }),
  );
  const files = withoutCopies([...found, ...given]);
  const nested = new NestedFiles(cwd, gitRoot ?? cwd, files);
  const isOnDemand = config.enableConfigDiscovery === true && config.enableOnDemandInstructionDiscovery !== false;
  return {
    warnings,
    text: (unreadable) => textOf(files.filter(isReadable(unreadable)), config),
    forFile: (file, unreadable) => {
      const all = isOnDemand ? nested.forFile(file) : [];
      return new Map(all.filter(isReadable(unreadable)).map((each) => [each.path, block(each)]));
    },
    sources: () => [...files, ...nested.read].map((file) => sourceOf(file, gitRoot ?? cwd)),
  };
}

/** The files of a folder that nobody works in. */
export function discoverInstructions(projectPath: string): InstructionSource[] {
  const folder = realPath(resolve(projectPath));
  const { sources } = readInstructions({ enableConfigDiscovery: true }, folder, projectRootOf(folder));
  return sources().map((source) => ({ ...source, projectPath }));
}

function discover(cwd: string, { root, warnings }: { root: string; warnings: string[] }): InstructionFile[] {
  const warn = (message: string) => warnings.push(message);
  const within = projectRootOf(root);
  return foldersBetween(root, cwd).flatMap((folder) => {
    const isRoot = folder === root;
    const location = isRoot ? "repository" : "working-directory";
    const own = filesOf(folder, { type: isRoot ? "repo" : "nested-agents", location, within, warn });
    const isEnd = isRoot || folder === cwd;
    return isEnd ? [...own, ...filesForKinds(folder, { type: "vscode", location, within, warn })] : own;
  });
}

/** From the outer one to the inner one, both with it. The inner one alone when it is not below. */
function foldersBetween(outer: string, inner: string): string[] {
  if (!isWithin(outer, inner)) return [inner];
  const names = relative(outer, inner).split(sep).filter(Boolean);
  return [outer, ...names.map((_, at) => join(outer, ...names.slice(0, at + 1)))].slice(0, MAX_DEPTH);
}

/** Often one of the files is a copy of the other, for another program. */
function withoutCopies(files: readonly InstructionFile[]): InstructionFile[] {
  const keyOf = ({ text, applyTo = [] }: InstructionFile) => JSON.stringify([text.trim(), applyTo]);
  return files.filter((file, at) => files.findIndex((each) => keyOf(each) === keyOf(file)) === at);
}

/** What is for certain files, and what lies in folders below the working folder. */
class NestedFiles {
  readonly #cwd: string;
  readonly #root: string;
  readonly #known: readonly InstructionFile[];
  readonly #byFolder = new Map<string, readonly InstructionFile[]>();

  constructor(cwd: string, root: string, known: readonly InstructionFile[]) {
    this.#cwd = cwd;
    this.#root = root;
    this.#known = known;
  }

  /** Those of folders that were looked into so far. */
  get read(): readonly InstructionFile[] {
    return [...this.#byFolder.values()].flat();
  }

  forFile(given: string): InstructionFile[] {
    const file = resolve(this.#cwd, given);
    if (!isWithin(realPath(this.#root), realPath(file))) return [];
    const path = relative(this.#root, file).split(sep).join("/");
    if (path.startsWith("..") || isAbsolute(path)) return [];
    const forKind = this.#known.filter(({ applyTo }) => applyTo?.some((glob) => matchesGlob(glob, path)));
    const before = new Set(foldersBetween(this.#root, this.#cwd));
    const folders = foldersBetween(this.#root, dirname(file)).filter((folder) => !before.has(folder));
    return [...forKind, ...folders.flatMap((folder) => this.#of(folder))];
  }

  #of(folder: string): readonly InstructionFile[] {
    const known = this.#byFolder.get(folder);
    if (known) return known;
    const texts = new Set(this.#known.map(({ text }) => text.trim()));
    const options = {
      location: "working-directory",
      within: projectRootOf(this.#root),
      warn: () => undefined,
    } as const;
    const files = filesOf(folder, { type: "child-instructions", ...options }).filter(
      ({ text }) => !texts.has(text.trim()),
    );
    this.#byFolder.set(folder, files);
    return files;
  }
}

const isReadable =
  (unreadable: readonly string[]) =>
  ({ path }: InstructionFile): boolean =>
    !isBelowAny(path, unreadable) && !isBelowAny(realPath(path), unreadable);

function textOf(
  files: readonly InstructionFile[],
  { organizationCustomInstructions }: SessionConfig,
): string | undefined {
  const always = files.filter(({ applyTo }) => applyTo === undefined).map(block);
  const lines = files.flatMap(({ path, applyTo, description }) =>
    applyTo ? [`- ${applyTo.join(", ")}: ${path}${description ? ` (${description})` : ""}`] : [],
  );
  const table = lines.length > 0 ? [`${FOR_KINDS}\n${lines.join("\n")}`] : [];
  const organisation = organizationCustomInstructions ? [organizationCustomInstructions] : [];
  const texts = [...always, ...table, ...organisation];
  return texts.length > 0 ? texts.join("\n\n") : undefined;
}

const FOR_KINDS =
  "There are instructions for certain files. You are given them with the first such file that you view or change; view them yourself if you need them before:";

function block({ path, text, applyTo }: InstructionFile): string {
  const files = applyTo ? ` files="${applyTo.join(", ").replaceAll('"', "&quot;")}"` : "";
  return `<instructions path="${path}"${files}>\n${text.trim()}\n</instructions>`;
}

function sourceOf(
  { path, text, type, location, applyTo, description }: InstructionFile,
  root: string,
): InstructionSource {
  const isInside = isWithin(root, path);
  const sourcePath = isInside ? relative(root, path) : path;
  return {
    id: path,
    label: isInside ? sourcePath : basename(path),
    sourcePath,
    content: text,
    type,
    location,
    ...(applyTo && { applyTo: [...applyTo] }),
    ...(description !== undefined && { description }),
  };
}
