/**
 * The present state of a working tree as a tree object: what is committed, staged, changed and new, without what is ignored.
 *
 * It is made with an index of its own, so that neither files nor the index, the stash or a branch of the user change. Folders that are repositories of their
 * own stay out of it.
 */
import { randomUUID } from "node:crypto";
import { copyFileSync, existsSync, lstatSync, readdirSync, rmSync, type Stats, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { isProcessAlive, thisProcess } from "../../store/holder.ts";
import { type GitOptions, git } from "../git-process.ts";

/** A working tree. The folder of its repository is named where `.git` in the tree is not to be believed. */
export interface WorkingTree {
  top: string;
  gitFolder?: string;
}

export interface Snapshot {
  tree: string;
  /** An index that knows which files of the working tree are as they are in the tree. */
  index: string;
  /** Repositories of their own. */
  leftOut: readonly string[];
}

export class Unmerged extends Error {
  override readonly name = "Unmerged";
}

/** Where the temporary index is kept, and how long anybody waits. */
export interface Bench {
  folder: string;
  signal: AbortSignal;
}

/** The index is there while `use` works. */
export async function withSnapshot<T>(
  tree: WorkingTree,
  bench: Bench,
  use: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const { pid, startedAt } = thisProcess();
  const index = join(bench.folder, `.index-${pid}-${startedAt}-${randomUUID()}`);
  try {
    return await use(await take(tree, { index, signal: bench.signal }));
  } finally {
    for (const file of [index, `${index}.lock`]) rmSync(file, { force: true });
  }
}

/** Removes what killed processes have left in the folder. */
export function sweepIndexes(folder: string): void {
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const [, pid, startedAt] = /^\.index-(\d+)-(\d+)-/.exec(name) ?? [];
    if (pid === undefined || isProcessAlive({ pid: Number(pid), startedAt: Number(startedAt) })) continue;
    rmSync(join(folder, name), { force: true });
  }
}

async function take(tree: WorkingTree, { index, signal }: { index: string; signal: AbortSignal }): Promise<Snapshot> {
  const { top } = tree;
  const own = await git(top, ["rev-parse", "--path-format=absolute", "--git-path", "index"], inTree(tree, { signal }));
  copyIndex(own.trim(), index);
  const options = inTree(tree, { signal, env: { GIT_INDEX_FILE: index } });
  if ((await git(top, ["ls-files", "--unmerged", "-z"], options)) !== "")
    throw new Unmerged("a merge is under way in the working tree, and files of it are not resolved");
  const args = ["ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard"];
  const listed = [...new Set((await git(top, args, options)).split("\0").filter(Boolean))];
  const changed = listed.filter((path) => !path.endsWith("/"));
  // First what is gone: a folder may be where a file was, and the other way round.
  const isGone = (path: string) => !isFileOrRepository(join(top, path));
  const nulled = (paths: readonly string[]) => paths.map((path) => `${path}\0`).join("");
  const [gone, there] = [changed.filter(isGone), changed.filter((path) => !isGone(path))];
  if (gone.length > 0)
    await git(top, ["update-index", "-z", "--force-remove", "--stdin"], { ...options, input: nulled(gone) });
  if (there.length > 0)
    await git(top, ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], {
      ...options,
      input: nulled(there),
    });
  // Files that were saved or copied without a change are not in the list, and git would not write over them before it has compared them.
  await git(top, ["update-index", "-q", "--ignore-submodules", "--ignore-missing", "--refresh"], {
    ...options,
    mayDiffer: true,
  });
  const written = (await git(top, ["write-tree"], options)).trim();
  return { tree: written, index, leftOut: listed.filter((path) => path.endsWith("/")) };
}

/** Runs git for this tree, whatever `.git` in it says by now. */
export function inTree({ top, gitFolder }: WorkingTree, options: GitOptions): GitOptions {
  if (gitFolder === undefined) return options;
  return { ...options, env: { ...options.env, GIT_DIR: gitFolder, GIT_WORK_TREE: top } };
}

/** A folder of the index is a repository of its own. */
function isFileOrRepository(path: string): boolean {
  const there = lookAt(path);
  return there !== undefined && (!there.isDirectory() || existsSync(join(path, ".git")));
}

/** Undefined when there is nothing, also because something above it is no folder. */
export function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** An entry that is younger than its index is compared by content, so a copy must not be younger than the original. */
function copyIndex(from: string, to: string): void {
  if (!existsSync(from)) return;
  const { mtimeMs } = statSync(from);
  copyFileSync(from, to);
  const seconds = (mtimeMs - 1) / 1000;
  utimesSync(to, seconds, seconds);
}

const AUTHOR = {
  GIT_AUTHOR_NAME: "Retinue",
  GIT_AUTHOR_EMAIL: "retinue@localhost",
  GIT_COMMITTER_NAME: "Retinue",
  GIT_COMMITTER_EMAIL: "retinue@localhost",
};

/** A commit of a tree, which no branch knows. */
export async function commitTree(
  { top, tree, parent, message }: { top: string; tree: string; parent?: string; message: string },
  signal: AbortSignal,
): Promise<string> {
  const parents = parent === undefined ? [] : ["-p", parent];
  return (await git(top, ["commit-tree", tree, ...parents], { signal, env: AUTHOR, input: message })).trim();
}
