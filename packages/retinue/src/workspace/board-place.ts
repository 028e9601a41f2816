/**
 * Which context board a folder has: that of the repository around it and of the branch that is checked out, or that of the folder itself.
 *
 * A repository is known by where it lies, never by what its files say about themselves: a clone may name any remote. A git worktree has the
 * board of its repository, but only when that repository knows the worktree too, since any folder can hold a file that points to another.
 */
import { basename, dirname, join, resolve } from "node:path";
import { projectRootOf } from "../project/root.ts";
import { readTextFile } from "../project/text-file.ts";
import { realPath } from "../real-path.ts";
import { branchOf, gitFolderOf } from "./git-context.ts";

export interface FolderBoard {
  readonly repository: string;
  /** "" outside git, and while no branch is checked out. */
  readonly branch: string;
}

const MAX_BYTES = 64 * 1024;
/** No branch that git makes is longer, since it is a path of files. */
const MAX_BRANCH = 1000;

export function boardPlace(folder: string): FolderBoard {
  const root = projectRootOf(folder);
  const gitFolder = gitFolderOf(root);
  const branch = branchOf(gitFolder) ?? "";
  return { repository: mainFolder(root, gitFolder) ?? root, branch: branch.slice(0, MAX_BRANCH) };
}

/** Of a worktree: the folder of its repository. Undefined for everything else. */
function mainFolder(root: string, gitFolder: string): string | undefined {
  if (gitFolder === join(root, ".git")) return undefined;
  const common = firstLine(join(gitFolder, "commondir"));
  const back = firstLine(join(gitFolder, "gitdir"));
  if (common === "" || back === "" || realPath(resolve(gitFolder, back)) !== join(root, ".git")) return undefined;
  const shared = realPath(resolve(gitFolder, common));
  const isInside = dirname(realPath(gitFolder)) === join(shared, "worktrees");
  if (!isInside) return undefined;
  return basename(shared) === ".git" ? dirname(shared) : shared; // A bare repository has no folder around it.
}

function firstLine(path: string): string {
  try {
    return (readTextFile(path, { maxBytes: MAX_BYTES })?.text ?? "").split("\n", 1)[0]?.trim() ?? "";
  } catch {
    return ""; // It is nothing that git has written there.
  }
}
