/** One git worktree for one agent: made from the present state of a working tree, collected as a commit, and removed with what git keeps about it. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { realPath } from "../../real-path.ts";
import { git } from "../git-process.ts";
import { inTurn } from "./repository-queue.ts";
import { type Bench, commitTree, inTree, type WorkingTree, withSnapshot } from "./snapshot.ts";
import { refOf, type WorktreeEntry } from "./worktree-ledger.ts";

/** Returns the commit that it begins with: what the working tree is now. */
export async function makeWorktree({ top, common, path }: WorktreeEntry, bench: Bench): Promise<string> {
  const { signal } = bench;
  const base = await inTurn(common, signal, () =>
    withSnapshot({ top }, bench, async ({ tree }) => {
      const head = await git(top, ["rev-parse", "--verify", "--quiet", "HEAD"], { signal, mayDiffer: true });
      return await commitTree(
        { top, tree, parent: head.trim() || undefined, message: "Where the agent began" },
        signal,
      );
    }),
  );
  // Locked, so that nobody's `git worktree prune` forgets it.
  const reason = ["--lock", "--reason", "an agent of Retinue works here"];
  await git(top, ["worktree", "add", "--quiet", "--detach", "--no-checkout", ...reason, path, base], { signal });
  // In a step of its own: the configuration may say something else inside a worktree, and that is looked at here.
  await git(path, ["read-tree", "-m", "-u", "HEAD"], { signal });
  return base;
}

/** A commit of what the agent has made, and the files that it changed; undefined when there is nothing. */
export async function collectWork(
  entry: WorktreeEntry & { base: string },
  bench: Bench,
): Promise<{ work: string; files: string[] } | undefined> {
  const { signal } = bench;
  const { base, top, path: folder } = entry;
  const tree: WorkingTree = { top: folder, gitFolder: gitFolderOf(entry) };
  return await withSnapshot(tree, bench, async (now) => {
    const args = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", base, now.tree];
    const files = (await git(folder, args, inTree(tree, { signal }))).split("\0").filter(Boolean);
    if (files.length === 0) return undefined;
    const message = `Work of the agent ${entry.name}`;
    const work = await commitTree({ top, tree: now.tree, parent: base, message }, signal);
    await git(top, ["update-ref", refOf(entry), work], { signal });
    return { work, files };
  });
}

export function isThere(entry: WorktreeEntry): boolean {
  return existsSync(entry.path) && existsSync(gitFolderOf(entry));
}

/** Never by `git worktree prune`, which would also forget worktrees of the user that are away for the moment. */
export function removeWorktree(entry: WorktreeEntry): void {
  rmSync(entry.path, { recursive: true, force: true, maxRetries: 3 });
  const folder = gitFolderOf(entry);
  if (isOurs(folder, entry)) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Our names are long enough to be nobody else's, and git names its folder after ours. */
const gitFolderOf = ({ common, name }: WorktreeEntry): string => join(common, "worktrees", name);

function isOurs(folder: string, { path }: WorktreeEntry): boolean {
  const file = join(folder, "gitdir");
  if (!existsSync(file)) return true; // Git was stopped while it made it.
  return realPath(readFileSync(file, "utf8").trim()) === realPath(join(path, ".git"));
}
