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
import { type FolderOptions, filesForKinds, filesOf, type InstructionFile, stampOf } from "./instruction-files.ts";

export interface Instructions {
  /** Reads the files again if one has changed, come or gone, or if the host wants others. Returns whether it has. */
  follow(config: SessionConfig): boolean;
  /** Without the files that a rule denies to read. Rules come later than the files are found. */
  text(unreadable: readonly string[]): string | undefined;
  /** What counts for a file besides, as blocks for the model by their path. */
  forFile(file: string, unreadable: readonly string[]): ReadonlyMap<string, string>;
  sources(): InstructionSource[];
  /** Files that were refused or cut. */
  readonly warnings: readonly string[];
  /** Those that came after the first reading, each once. */
  newWarnings(): readonly string[];
}

/** A deeper folder is somebody's way to keep us busy. */
const MAX_DEPTH = 30;

/** Found only where the host allows it; `instructionDirectories` are always read. */
export function readInstructions(config: SessionConfig, cwd: string, gitRoot: string | undefined): Instructions {
  const root = gitRoot ?? cwd;
  let found = new FoundFiles(config, { cwd, root });
  const told = new Set(found.warnings);
  return {
    get warnings() {
      return found.warnings;
    },
    newWarnings: () => {
      const fresh = [...new Set(found.warnings)].filter((warning) => !told.has(warning));
      for (const warning of fresh) told.add(warning);
      return fresh;
    },
    follow: (now) => {
      if (found.isCurrent(now)) return false;
      found = new FoundFiles(now, { cwd, root, known: found.deeper });
      return true;
    },
    text: (unreadable) => textOf(found.files.filter(isReadable(unreadable)), found.wanted),
    forFile: (file, unreadable) =>
      new Map(
        found
          .forFile(file)
          .filter(isReadable(unreadable))
          .map((each) => [each.path, block(each)]),
      ),
    sources: () => found.all.map((file) => sourceOf(file, root)),
  };
}

/** The files of a folder that nobody works in. */
export function discoverInstructions(projectPath: string): InstructionSource[] {
  const folder = realPath(resolve(projectPath));
  const { sources } = readInstructions({ enableConfigDiscovery: true }, folder, projectRootOf(folder));
  return sources().map((source) => ({ ...source, projectPath }));
}

/** What a host says about instructions. */
type Wanted = Pick<
  SessionConfig,
  | "skipCustomInstructions"
  | "enableConfigDiscovery"
  | "enableOnDemandInstructionDiscovery"
  | "instructionDirectories"
  | "organizationCustomInstructions"
>;

interface Place {
  cwd: string;
  root: string;
  /** Folders below the working folder that were looked into before. */
  known?: readonly string[];
}

/** What was found at one time, and what every folder was like then. */
class FoundFiles {
  readonly wanted: Wanted;
  readonly warnings: string[] = [];
  readonly #place: Place;
  readonly #within: string;
  readonly #files: readonly InstructionFile[];
  /** Of folders below the working folder. */
  readonly #deeper = new Map<string, readonly InstructionFile[]>();
  readonly #stamps = new Map<string, string>();

  constructor(config: SessionConfig, place: Place) {
    this.wanted = wantedOf(config);
    this.#place = place;
    this.#within = projectRootOf(place.root);
    this.#files = this.wanted.skipCustomInstructions ? [] : withoutCopies([...this.#discover(), ...this.#given()]);
    if (this.#isOnDemand) for (const folder of place.known ?? []) this.#below(folder);
  }

  get files(): readonly InstructionFile[] {
    return this.#files;
  }

  get all(): readonly InstructionFile[] {
    return [...this.#files, ...[...this.#deeper.values()].flat()];
  }

  get deeper(): readonly string[] {
    return [...this.#deeper.keys()];
  }

  isCurrent(config: SessionConfig): boolean {
    if (JSON.stringify(wantedOf(config)) !== JSON.stringify(this.wanted)) return false;
    return [...this.#stamps].every(([folder, stamp]) => stampOf(folder) === stamp);
  }

  /** What is for certain files, and what lies in folders below the working folder. */
  forFile(given: string): InstructionFile[] {
    const { cwd, root } = this.#place;
    const file = resolve(cwd, given);
    if (!this.#isOnDemand || !isWithin(realPath(root), realPath(file))) return [];
    const path = relative(root, file).split(sep).join("/");
    if (path.startsWith("..") || isAbsolute(path)) return [];
    const forKind = this.#files.filter(({ applyTo }) => applyTo?.some((glob) => matchesGlob(glob, path)));
    const before = new Set(foldersBetween(root, cwd));
    const folders = foldersBetween(root, dirname(file)).filter((folder) => !before.has(folder));
    return [...forKind, ...folders.flatMap((folder) => this.#below(folder))];
  }

  get #isOnDemand(): boolean {
    const { skipCustomInstructions, enableConfigDiscovery, enableOnDemandInstructionDiscovery } = this.wanted;
    return !skipCustomInstructions && enableConfigDiscovery === true && enableOnDemandInstructionDiscovery !== false;
  }

  #discover(): InstructionFile[] {
    const { cwd, root } = this.#place;
    if (!this.wanted.enableConfigDiscovery) return [];
    return foldersBetween(root, cwd).flatMap((folder) => {
      const isRoot = folder === root;
      const location = isRoot ? "repository" : "working-directory";
      const options = { ...this.#lookAt(folder), location, within: this.#within } as const;
      const own = filesOf(folder, { ...options, type: isRoot ? "repo" : "nested-agents" });
      const isEnd = isRoot || folder === cwd;
      return isEnd ? [...own, ...filesForKinds(folder, { ...options, type: "vscode" })] : own;
    });
  }

  #given(): InstructionFile[] {
    return (this.wanted.instructionDirectories ?? []).flatMap((named) => {
      const folder = resolve(this.#place.cwd, named);
      return filesOf(folder, { ...this.#lookAt(folder), type: "repo", location: "working-directory" });
    });
  }

  #below(folder: string): readonly InstructionFile[] {
    const known = this.#deeper.get(folder);
    if (known) return known;
    const texts = new Set(this.#files.map(({ text }) => text.trim()));
    const options = { ...this.#lookAt(folder), location: "working-directory", within: this.#within } as const;
    const found = filesOf(folder, { ...options, type: "child-instructions" });
    const files = found.filter(({ text }) => !texts.has(text.trim()));
    this.#deeper.set(folder, files);
    return files;
  }

  /** Before it is read: what changes meanwhile is seen the next time. */
  #lookAt(folder: string): Pick<FolderOptions, "warn"> {
    this.#stamps.set(folder, stampOf(folder));
    return { warn: (message) => this.warnings.push(message) };
  }
}

function wantedOf(config: SessionConfig): Wanted {
  const { skipCustomInstructions, enableConfigDiscovery, enableOnDemandInstructionDiscovery } = config;
  const { instructionDirectories, organizationCustomInstructions } = config;
  return {
    skipCustomInstructions,
    enableConfigDiscovery,
    enableOnDemandInstructionDiscovery,
    instructionDirectories,
    organizationCustomInstructions,
  };
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

const isReadable =
  (unreadable: readonly string[]) =>
  ({ path }: InstructionFile): boolean =>
    !isBelowAny(path, unreadable) && !isBelowAny(realPath(path), unreadable);

function textOf(files: readonly InstructionFile[], { organizationCustomInstructions }: Wanted): string | undefined {
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
