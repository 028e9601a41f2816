/**
 * The parser of the shell language: tree-sitter's grammar of bash, loaded at the first use and never at start-up.
 *
 * Loading is asynchronous, parsing is not. Before it is loaded, and for what is too long, there is no tree: whoever reads the line must
 * then treat it as unclear.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "@retinue/protocol";
import type { Node, Parser } from "web-tree-sitter";

/** A longer line is not parsed: reading it must not keep the process from other work. */
const MAX_LENGTH = 2000;
/**
 * Some texts that are no valid lines take the parser a second. It is stopped by the processor time that it has used, because a busy machine must
 * not make a plain line unclear.
 */
const MAX_CPU_MS = 20;

let loading: Promise<void> | undefined;
let parser: Parser | undefined;
let problem = "it was not asked for";

/** Resolves when lines can be parsed, or when that is impossible: then no line counts as understood, and `noTree` says why. */
export function loadGrammar(): Promise<void> {
  loading ??= load().catch((error: unknown) => {
    problem = messageOf(error);
  });
  return loading;
}

export const isLoaded = (): boolean => parser !== undefined;

/** Why there is no tree of a line. */
export function noTree(line: string): string {
  if (line.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  return parser ? "it is too hard to read" : `the parser of command lines is not loaded (${problem})`;
}

async function load(): Promise<void> {
  const { Language, Parser: LoadedParser } = await import("web-tree-sitter");
  await LoadedParser.init();
  const made = new LoadedParser();
  made.setLanguage(await Language.load(grammarFile()));
  parser = made;
}

/** What `read` makes of the tree, which exists only during the call; undefined when there is no tree. */
export function withTree<T>(line: string, read: (root: Node) => T): T | undefined {
  if (!parser || line.length > MAX_LENGTH) return undefined;
  const started = process.cpuUsage();
  const tree = parser.parse(line, null, { progressCallback: () => hasUsed(MAX_CPU_MS, started) });
  if (!tree) {
    parser.reset(); // Otherwise it would go on with this line.
    return undefined;
  }
  try {
    return read(tree.rootNode);
  } finally {
    tree.delete();
  }
}

function hasUsed(ms: number, since: NodeJS.CpuUsage): boolean {
  return process.cpuUsage(since).user > ms * 1000;
}

/** In the sources, the bundle and a released package this module is at different depths below the folder of the package. */
function grammarFile(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const file = join(folder, "grammars/bash.wasm");
    if (existsSync(file)) return file;
    const above = dirname(folder);
    if (above === folder)
      throw new Error("grammars/bash.wasm is missing from the installation. Install Retinue again.");
    folder = above;
  }
}
