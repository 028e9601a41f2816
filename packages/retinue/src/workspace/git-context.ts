/** The folder a session works in, and the repository around it, read from files: no git process is started. */
import { type Stats, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { SessionContext } from "@retinue/protocol";
import { readTextFile } from "../project/text-file.ts";

const MAX_BYTES = 1024 * 1024;

export async function gitContext(cwd: string): Promise<SessionContext> {
  const folder = resolve(cwd);
  const gitRoot = findRoot(folder);
  if (gitRoot === undefined) return { cwd: folder };
  const gitFolder = gitFolderOf(gitRoot);
  const [branch, repository] = [branchOf(gitFolder), repositoryOf(gitFolder)];
  return { cwd: folder, gitRoot, ...(branch ? { branch } : {}), ...(repository ? { repository } : {}) };
}

function findRoot(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (stats(join(at, ".git"))) return at;
    if (dirname(at) === at) return undefined;
  }
}

/** In a worktree `.git` is a file that names the real folder. */
export function gitFolderOf(root: string): string {
  const path = join(root, ".git");
  const named = stats(path)?.isFile() ? /^gitdir: (.+)$/m.exec(text(path))?.[1] : undefined;
  return named === undefined ? path : resolve(root, named.trim());
}

export function branchOf(gitFolder: string): string | undefined {
  return /^ref: refs\/heads\/(.+)$/m.exec(text(join(gitFolder, "HEAD")))?.[1]?.trim();
}

/** `owner/name` of the first remote. A worktree shares the config of the repository that `commondir` names. */
function repositoryOf(gitFolder: string): string | undefined {
  const shared = text(join(gitFolder, "commondir")).trim();
  const config = text(join(resolve(gitFolder, shared), "config"));
  const line = config.split("\n").find((each) => each.trimStart().startsWith(URL_KEY));
  return line && nameIn(line.trim().slice(URL_KEY.length).slice(-MAX_NAME));
}

const URL_KEY = "url = ";
/** Longer names are none that a forge would take. */
const MAX_NAME = 400;

function nameIn(url: string): string | undefined {
  return /[/:]([^/:]+\/[^/]+?)(?:\.git)?$/.exec(url)?.[1];
}

/** Synchronous, as all reading here: starting the threads for one look takes longer than all the looks. */
function stats(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Empty when the file is missing, or is nothing that git would have written there. */
function text(path: string): string {
  try {
    return readTextFile(path, { maxBytes: MAX_BYTES })?.text ?? "";
  } catch {
    return "";
  }
}
