/** What changed in a repository, file by file, according to git. */
import { git } from "./git-process.ts";

export interface FileChange {
  path: string;
  diff: string;
  changeType: "added" | "modified" | "deleted" | "renamed";
  oldPath?: string;
  isTruncated?: boolean;
}

export interface DiffOptions {
  ignoreWhitespace?: boolean;
  signal: AbortSignal;
}

const MAX_DIFF_CHARACTERS = 100_000;
const MAX_NEW_FILES = 200;

/** What is not staged, files that git does not know yet included. */
export async function unstagedChanges(root: string, options: DiffOptions): Promise<FileChange[]> {
  const tracked = await git(root, ["diff", ...flags(options)], { signal: options.signal });
  return [...parseDiff(tracked), ...(await newFiles(root, options))];
}

/** Whether something differs from the last commit, new files included. */
export async function hasChanges(root: string, signal: AbortSignal): Promise<boolean> {
  const options = ["--porcelain", "--untracked-files=normal", "--ignore-submodules=all"];
  return (await git(root, ["status", ...options], { signal })) !== "";
}

/** Whether two commits differ, named by a range. Undefined when git does not know it. */
export async function hasDifference(root: string, range: string, signal: AbortSignal): Promise<boolean | undefined> {
  try {
    return (await git(root, ["diff", "--name-only", ...flags({ signal }), range, "--"], { signal })) !== "";
  } catch (error) {
    if (signal.aborted) throw error;
    await git(root, ["rev-parse", "--git-dir"], { signal }); // When git cannot read the repository at all, it is not the range.
    return undefined;
  }
}

/** What differs from where the branch left the base branch. Undefined when there is no base. */
export async function branchChanges(
  root: string,
  options: DiffOptions,
): Promise<{ baseBranch: string; changes: FileChange[] } | undefined> {
  const baseBranch = await defaultBranch(root, options.signal);
  if (baseBranch === undefined) return undefined;
  const base = (await git(root, ["merge-base", baseBranch, "HEAD"], { signal: options.signal })).trim();
  const tracked = await git(root, ["diff", ...flags(options), base], { signal: options.signal });
  return { baseBranch, changes: [...parseDiff(tracked), ...(await newFiles(root, options))] };
}

/** One entry per `diff --git` part. */
export function parseDiff(text: string): FileChange[] {
  return text
    .split(/^(?=diff --git )/m)
    .filter((part) => part.startsWith("diff --git "))
    .map(fileChange);
}

function fileChange(part: string): FileChange {
  const field = (pattern: RegExp) => pattern.exec(part)?.[1]?.replace(/\t$/, "");
  const renamedFrom = field(/^rename from (.+)$/m);
  const [, left = "", right = ""] = /^diff --git a\/(.*) b\/(.*)$/m.exec(part) ?? [];
  const path = field(/^rename to (.+)$/m) ?? field(/^\+\+\+ b\/(.+)$/m) ?? field(/^--- a\/(.+)$/m) ?? (right || left);
  const isTruncated = part.length > MAX_DIFF_CHARACTERS;
  return {
    path,
    diff: isTruncated ? part.slice(0, MAX_DIFF_CHARACTERS) : part,
    changeType: changeType(part, renamedFrom),
    ...(renamedFrom === undefined ? {} : { oldPath: renamedFrom }),
    ...(isTruncated ? { isTruncated } : {}),
  };
}

function changeType(part: string, renamedFrom: string | undefined): FileChange["changeType"] {
  if (renamedFrom !== undefined) return "renamed";
  if (/^new file mode /m.test(part)) return "added";
  return /^deleted file mode /m.test(part) ? "deleted" : "modified";
}

async function newFiles(root: string, options: DiffOptions): Promise<FileChange[]> {
  const listed = await git(root, ["ls-files", "--others", "--exclude-standard", "-z"], { signal: options.signal });
  const names = listed.split("\0").filter(Boolean).slice(0, MAX_NEW_FILES);
  const diffs: string[] = [];
  for (const name of names) {
    const args = ["diff", ...flags(options), "--no-index", "--", "/dev/null", name];
    diffs.push(await git(root, args, { signal: options.signal, mayDiffer: true }));
  }
  return diffs.flatMap(parseDiff);
}

async function defaultBranch(root: string, signal: AbortSignal): Promise<string | undefined> {
  const remote = await git(root, ["rev-parse", "--abbrev-ref", "origin/HEAD"], { signal }).catch(() => "");
  for (const name of [remote.trim(), "main", "master"]) {
    const isThere =
      name !== "" && (await git(root, ["rev-parse", "--verify", "--quiet", name], { signal }).catch(() => "")) !== "";
    if (isThere) return name;
  }
  return undefined;
}

function flags({ ignoreWhitespace }: DiffOptions): string[] {
  return [
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all", // A submodule has a configuration of its own.
    "--src-prefix=a/",
    "--dst-prefix=b/",
    ...(ignoreWhitespace ? ["--ignore-all-space"] : []),
  ];
}
