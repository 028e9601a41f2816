/**
 * Whether a repository makes git run nothing: what somebody has put into its configuration, hooks or submodules would run with every `git status`.
 *
 * The configuration of the user, outside the repository, is theirs and is not looked at.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const MAX_CONFIG_BYTES = 64 * 1024;
const MAX_ABOVE = 64;

/** Keys that name nothing to run. Any other makes the repository unknown. */
const HARMLESS: Readonly<Record<string, readonly string[]>> = {
  core: [
    "repositoryformatversion",
    "filemode",
    "bare",
    "logallrefupdates",
    "ignorecase",
    "precomposeunicode",
    "symlinks",
  ],
  remote: ["url", "fetch", "pushurl", "tagopt", "prune"],
  branch: ["remote", "merge", "rebase", "description"],
  user: ["name", "email"],
  init: ["defaultbranch"],
  pull: ["rebase", "ff"],
  push: ["default", "autosetupremote"],
};

/** The folder must be in a repository. Fails closed: what cannot be read, or is not known, is not plain. */
export function isPlainRepository(folder: string): boolean {
  try {
    const found = repositoryOf(folder);
    return (
      found !== undefined &&
      !existsSync(join(found.top, ".gitmodules")) &&
      hasPlainConfig(found.git) &&
      hasNoHooks(found.git)
    );
  } catch {
    return false; // It cannot be read, so it is not known what it does.
  }
}

interface Repository {
  top: string;
  /** Where its configuration and hooks are. */
  git: string;
}

function repositoryOf(folder: string): Repository | undefined {
  let top = resolve(folder);
  for (let count = 0; count < MAX_ABOVE; count++) {
    // A folder that looks like a bare repository is one to git, whoever has made it.
    if (existsSync(join(top, "HEAD")) && existsSync(join(top, "objects"))) return undefined;
    const git = join(top, ".git");
    const there = statSync(git, { throwIfNoEntry: false });
    if (there) return { top, git: there.isDirectory() ? git : linked(git) };
    const above = dirname(top);
    if (above === top) return undefined;
    top = above;
  }
  return undefined;
}

/** A worktree has a file that names its folder, which names the one that it shares with others. */
function linked(file: string): string {
  const named = /^gitdir: (.+)$/m.exec(readFileSync(file, "utf8"))?.[1] ?? "";
  const folder = resolve(dirname(file), named.trim());
  const common = join(folder, "commondir");
  return existsSync(common) ? resolve(folder, readFileSync(common, "utf8").trim()) : folder;
}

function hasPlainConfig(git: string): boolean {
  if (existsSync(join(git, "config.worktree"))) return false;
  const file = join(git, "config");
  if (statSync(file).size > MAX_CONFIG_BYTES) return false;
  let section = "";
  return readFileSync(file, "utf8")
    .split("\n")
    .map((line) => line.trim())
    .every((line) => {
      if (line === "" || line.startsWith("#") || line.startsWith(";")) return true;
      if (line.endsWith("\\")) return false; // It goes on in the next line.
      const head = /^\[([a-z]+)(?: "[^"\\]*")?\]$/i.exec(line)?.[1];
      if (head !== undefined) {
        section = head.toLowerCase();
        return Object.hasOwn(HARMLESS, section);
      }
      const key = /^([a-z][a-z0-9-]*)\s*=/i.exec(line)?.[1]?.toLowerCase();
      return key !== undefined && (HARMLESS[section]?.includes(key) ?? false) && !isRemoteProgram(line);
    });
}

/** `ext::` and its like run a program to reach a remote. Reading does not reach one, but nothing is lost by asking. */
const isRemoteProgram = (line: string): boolean => /\b[a-z]+::/i.test(line);

function hasNoHooks(git: string): boolean {
  const folder = join(git, "hooks");
  return !existsSync(folder) || readdirSync(folder).every((name) => name.endsWith(".sample"));
}
