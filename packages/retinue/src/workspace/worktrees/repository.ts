/** The repository around a folder, when agents can work in worktrees of it; otherwise words that say why they cannot. */
import { AppError } from "@retinue/protocol";
import { isWithin, realPath } from "../../real-path.ts";
import { GitFailure, git } from "../git-process.ts";

export interface Repository {
  /** The top of the working tree. */
  top: string;
  /** Where objects and branches are, shared by all worktrees. */
  common: string;
}

/** The first version with merges that touch no working tree. */
const OLDEST: readonly [number, number] = [2, 38];

export async function repositoryAround(folder: string, signal: AbortSignal): Promise<Repository> {
  await checkVersion(folder, signal);
  const args = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"];
  const answer = await git(folder, args, { signal }).catch((error: unknown) => {
    throw error instanceof GitFailure ? refused(whyNot(folder, error.message)) : error;
  });
  const [top = "", common = ""] = answer.split("\n");
  // A configuration can put the working tree anywhere. What is there is not what the agent is to change.
  if (!isWithin(realPath(top), realPath(folder)))
    throw refused(`the repository of ${folder} has its working tree elsewhere, at ${top}`);
  return { top: realPath(top), common: realPath(common) };
}

export const refused = (why: string): AppError =>
  new AppError("spawn_refused", `An agent cannot work in a worktree here: ${why}.`);

async function checkVersion(folder: string, signal: AbortSignal): Promise<void> {
  const text = await git(folder, ["--version"], { signal }).catch((error: unknown) => {
    throw error instanceof GitFailure && error.isMissing ? refused("git could not be started in this folder") : error;
  });
  const [, major, minor] = /(\d+)\.(\d+)/.exec(text) ?? [];
  const [oldestMajor, oldestMinor] = OLDEST;
  const isNewEnough = Number(major) > oldestMajor || (Number(major) === oldestMajor && Number(minor) >= oldestMinor);
  if (!isNewEnough) throw refused(`it needs git ${OLDEST.join(".")} or later, and this is ${text.trim()}`);
}

function whyNot(folder: string, words: string): string {
  if (words.includes("not a git repository")) return `${folder} is not in a git repository`;
  if (words.includes("must be run in a work tree"))
    return `the repository of ${folder} has no working tree (it is bare)`;
  if (words.includes("dubious ownership"))
    return `the repository of ${folder} belongs to somebody else, and git does not use it (safe.directory)`;
  return `git does not read the repository of ${folder}: ${words.split("\n", 1)[0]}`;
}
