/** The sources of the packages, read and parsed once, for tests that check the code itself; and the list of all files. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync, Visitor, type VisitorObject } from "rolldown/utils";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Every file in the repository, or added with the next commit: from the root, with slashes. */
export const files: readonly string[] = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .stdout.split("\n")
  .filter((file) => file !== "" && existsSync(path.join(root, file)));

/** Tests, and what only tests use. */
const FOR_TESTS = /(\.test|\.fixture|\.contract)\.tsx?$|\/(test-[^/]*\.ts|fixtures\/)/;

export interface Source {
  /** From the root, with slashes: `packages/sdk/src/client.ts`. */
  readonly file: string;
  readonly text: string;
  readonly isForTests: boolean;
}

/** Only folders with a manifest: a test run may leave others beside them. */
export const packages: readonly string[] = readdirSync(path.join(root, "packages")).filter((name) =>
  existsSync(path.join(root, "packages", name, "package.json")),
);

/** Every TypeScript file under the `src` of a package. */
export const sources: readonly Source[] = packages.flatMap((name) => {
  const folder = path.join(root, "packages", name, "src");
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith(".d.ts"))
    .map((entry) => sourceOf(path.join(entry.parentPath, entry.name)));
});

/** What is shipped. */
export const shipped: readonly Source[] = sources.filter(({ isForTests }) => !isForTests);

function sourceOf(absolute: string): Source {
  const file = path.relative(root, absolute).replaceAll(path.sep, "/");
  return { file, text: readFileSync(absolute, "utf8"), isForTests: FOR_TESTS.test(file) };
}

/** Calls the visitor for every node of the file. */
export function visit({ file, text }: Source, visitor: VisitorObject): void {
  const { program, errors } = parseSync(file, text);
  const [problem] = errors;
  if (problem) throw new Error(`${file}: ${problem.message}`);
  new Visitor(visitor).visit(program);
}

/** The text of every comment. */
export function commentsOf({ file, text }: Pick<Source, "file" | "text">): string[] {
  return parseSync(file, text).comments.map(({ value }) => value);
}

export function linesOf({ text }: Source, { start, end }: { start: number; end: number }): number {
  return text.slice(start, end).split("\n").length;
}

/** The modules that a file names in imports, exports and `import()`, as they are written. */
export function importsOf(source: Source): string[] {
  const found: string[] = [];
  const add = (node: { source: { value: unknown } | null }) => {
    if (typeof node.source?.value === "string") found.push(node.source.value);
  };
  visit(source, {
    ImportDeclaration: add,
    ExportNamedDeclaration: add,
    ExportAllDeclaration: add,
    ImportExpression: ({ source: from }) => {
      if (from.type === "Literal" && typeof from.value === "string") found.push(from.value);
    },
    TSImportType: ({ source: from }) => found.push(from.value),
  });
  return found;
}
