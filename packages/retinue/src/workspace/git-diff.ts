/**
 * What changed in a repository, file by file, according to git.
 *
 * The configuration of a repository can name programs that git runs on the way. Nobody has trusted them, so none of them runs.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { childEnvironment } from "../secrets/environment.ts";

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

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const MAX_DIFF_CHARACTERS = 100_000;
const MAX_NEW_FILES = 200;
const run = promisify(execFile);

/** What is not staged, files that git does not know yet included. */
export async function unstagedChanges(root: string, options: DiffOptions): Promise<FileChange[]> {
  const tracked = await git(root, ["diff", ...flags(options)], options.signal);
  return [...parseDiff(tracked), ...(await newFiles(root, options))];
}

/** Whether something differs from the last commit, new files included. */
export async function hasChanges(root: string, signal: AbortSignal): Promise<boolean> {
  const options = ["--porcelain", "--untracked-files=normal", "--ignore-submodules=all"];
  return (await git(root, ["status", ...options], signal)) !== "";
}

/** What differs from where the branch left the base branch. Undefined when there is no base. */
export async function branchChanges(
  root: string,
  options: DiffOptions,
): Promise<{ baseBranch: string; changes: FileChange[] } | undefined> {
  const baseBranch = await defaultBranch(root, options.signal);
  if (baseBranch === undefined) return undefined;
  const base = (await git(root, ["merge-base", baseBranch, "HEAD"], options.signal)).trim();
  const tracked = await git(root, ["diff", ...flags(options), base], options.signal);
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
  const listed = await git(root, ["ls-files", "--others", "--exclude-standard", "-z"], options.signal);
  const names = listed.split("\0").filter(Boolean).slice(0, MAX_NEW_FILES);
  const diffs = [];
  for (const name of names) {
    diffs.push(await git(root, ["diff", ...flags(options), "--no-index", "--", "/dev/null", name], options.signal));
  }
  return diffs.flatMap(parseDiff);
}

async function defaultBranch(root: string, signal: AbortSignal): Promise<string | undefined> {
  const remote = await git(root, ["rev-parse", "--abbrev-ref", "origin/HEAD"], signal).catch(() => "");
  for (const name of [remote.trim(), "main", "master"]) {
    const isThere =
      name !== "" && (await git(root, ["rev-parse", "--verify", "--quiet", name], signal).catch(() => "")) !== "";
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

async function git(root: string, args: string[], signal: AbortSignal): Promise<string> {
  return await runGit(root, [...NO_PROGRAMS, ...(await withoutFilters(root, signal)), ...args], signal);
}

const NO_PROGRAMS = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never"];

/** Switches off the filters that the configuration defines, through which git would read changed files. */
async function withoutFilters(root: string, signal: AbortSignal): Promise<string[]> {
  const listed = await runGit(root, ["config", "--null", "--name-only", "--get-regexp", "^filter\\."], signal).catch(
    () => "", // None is defined.
  );
  const drivers = new Set(listed.split("\0").flatMap((key) => /^filter\.(.*)\.[^.]+$/s.exec(key)?.[1] ?? []));
  return [...drivers].flatMap((driver) => [
    ...["-c", `filter.${driver}.clean=`, "-c", `filter.${driver}.smudge=`, "-c", `filter.${driver}.process=`],
    ...["-c", `filter.${driver}.required=false`],
  ]);
}

async function runGit(root: string, args: string[], signal: AbortSignal): Promise<string> {
  const options = {
    cwd: root,
    maxBuffer: MAX_OUTPUT_BYTES,
    signal,
    env: childEnvironment({ GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" }),
  };
  try {
    return (await run("git", ["-c", "core.quotepath=off", ...args], options)).stdout;
  } catch (error) {
    const isDifference = args.includes("--no-index") && error instanceof Error && "code" in error && error.code === 1;
    if (isDifference && "stdout" in error) return String(error.stdout);
    throw error;
  }
}
