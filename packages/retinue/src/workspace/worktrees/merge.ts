/**
 * Bringing the work of an agent into a working tree in which somebody else goes on working.
 *
 * A three-way merge of tree objects: where the agent began, what it made, and what the working tree is now, with everything that is not committed.
 * Only a merge without conflicts touches a file, and then all files or none: git compares each with what was merged before it writes the first. The
 * user's index is not touched, so the changes are there like any that were typed. Doing it again changes nothing.
 */
import { readdirSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { askGit, GitFailure, git } from "../git-process.ts";
import {
  type Bench,
  commitTree,
  inTree,
  lookAt,
  type Snapshot,
  Unmerged,
  type WorkingTree,
  withSnapshot,
} from "./snapshot.ts";

export type Merge =
  | { type: "merged"; files: readonly string[] }
  /** The working tree is as it was. */
  | { type: "conflicts"; files: readonly string[]; why: string };

export interface Work {
  /** The commit where the agent began. */
  base: string;
  /** The commit of what it made, whose parent is the base. */
  work: string;
}

/** A person who saves a file at the same moment is not in the way for long. */
const MAX_TRIES = 5;

export async function mergeInto(tree: WorkingTree, work: Work, bench: Bench): Promise<Merge> {
  for (let tries = 1; ; tries++) {
    try {
      return await withSnapshot(tree, bench, (now) => mergeWith(now, { tree, work, bench }));
    } catch (error) {
      if (error instanceof Unmerged) return { type: "conflicts", files: [], why: error.message };
      if (!(error instanceof Changed)) throw error;
      if (tries === MAX_TRIES)
        return { type: "conflicts", files: [], why: `files were being changed: ${error.message}` };
    }
  }
}

/** A file is no longer what was merged. */
class Changed extends Error {}

interface Merging {
  tree: WorkingTree;
  work: Work;
  bench: Bench;
}

async function mergeWith(now: Snapshot, { tree, work: { base, work }, bench }: Merging): Promise<Merge> {
  const { top } = tree;
  const { signal } = bench;
  const ours = await commitTree({ top, tree: now.tree, parent: base, message: "The working tree" }, signal);
  const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, work];
  const { text, differs } = await askGit(top, args, inTree(tree, { signal, mayDiffer: true }));
  const [merged = "", ...conflicting] = text.split("\0").filter(Boolean);
  if (differs)
    return { type: "conflicts", files: unique(conflicting), why: "the same places were changed in the working tree" };
  const changes = await changesBetween(now.tree, merged, { tree, bench });
  if (changes.length === 0) return { type: "merged", files: [] };
  const inTheWay = changes.filter(({ path, isNew }) => isNew && isTaken(path, { top, changes }));
  if (inTheWay.length > 0) {
    const why = "files that git ignores are where the new ones would be";
    return { type: "conflicts", files: inTheWay.map(({ path }) => path), why };
  }
  await writeFiles(now, { tree, merged });
  return { type: "merged", files: changes.map(({ path }) => path) };
}

interface Change {
  path: string;
  isNew: boolean;
}

async function changesBetween(
  before: string,
  after: string,
  { tree, bench }: Pick<Merging, "tree" | "bench">,
): Promise<Change[]> {
  const args = ["diff-tree", "-r", "-z", "--no-renames", "--name-status", before, after];
  const parts = (await git(tree.top, args, inTree(tree, { signal: bench.signal }))).split("\0").filter(Boolean);
  return parts.flatMap((status, index) => {
    const path = parts[index + 1];
    return index % 2 === 0 && path !== undefined ? [{ path, isNew: status === "A" }] : [];
  });
}

/** Something is there, or above it, that the merge does not know. Git itself would overwrite what is ignored. */
function isTaken(path: string, { top, changes }: { top: string; changes: readonly Change[] }): boolean {
  const known = new Set(changes.filter(({ isNew }) => !isNew).map((each) => each.path));
  for (let above = dirname(path); above !== "."; above = dirname(above)) {
    const folder = lookAt(join(top, above));
    if (folder && !folder.isDirectory()) return !known.has(above);
  }
  const there = lookAt(join(top, path));
  if (!there?.isDirectory()) return there !== undefined;
  return filesIn(join(top, path)).some((file) => !known.has(slashed(relative(top, file))));
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
}

const slashed = (path: string): string => path.split(sep).join("/");
const unique = (files: readonly string[]): string[] => [...new Set(files)];

async function writeFiles(now: Snapshot, { tree, merged }: Pick<Merging, "tree"> & { merged: string }): Promise<void> {
  const { signal } = new AbortController(); // Whoever cancels now waits for it: half of the files would be worse.
  const options = inTree(tree, { signal, env: { GIT_INDEX_FILE: now.index } });
  await git(tree.top, ["read-tree", "-m", "-u", now.tree, merged], options).catch((error: unknown) => {
    const isStale =
      error instanceof GitFailure &&
      /not uptodate|would be overwritten|would be removed|would lose/.test(error.message);
    throw isStale ? new Changed(error.message.split("\n", 1)[0]) : error;
  });
}
