/**
 * What the system prompt says about a session's surroundings, looked at once and kept with the session: providers reuse what they have
 * computed for a prompt only while it stays the same, and after a resume it is the same session.
 *
 * Looking begins when the session is opened, so that the first answer does not wait for git.
 */
import { arch, platform, release } from "node:os";
import { basename } from "node:path";
import { defined, type SessionContext, visible } from "@retinue/protocol";
import * as z from "zod";
import type { Environment } from "../loop/prompt.ts";
import type { Session } from "../session/session.ts";
import { document } from "../store/document.ts";
import { gitContext } from "../workspace/git-context.ts";
import type { RuntimeConfig } from "./config.ts";

/** By session. */
export const ENVIRONMENT = document("environment", () =>
  z.object({
    workingDirectory: z.string(),
    date: z.string(),
    system: z.string(),
    shell: z.string().optional(),
    branch: z.string().optional(),
    isClean: z.boolean().optional(),
  }),
);

export interface EnvironmentOptions {
  runtime: Pick<RuntimeConfig, "env" | "gitLimitMs">;
  context: SessionContext;
  /** What was found when the session began. */
  kept?: Environment;
}

const MAX_NAME = 200;

/** Looks again only when the session works in another folder. */
export function environmentOf(
  root: Session,
  { runtime, context, kept }: EnvironmentOptions,
): () => Promise<Environment> {
  let isKept = kept !== undefined;
  let current = kept ? Promise.resolve(kept) : look(context, { runtime, date: dayOf(root.world.now()) });
  return async () => {
    let found = await current;
    const { workingDirectory } = root.place;
    if (found.workingDirectory !== workingDirectory) {
      current = look(await gitContext(workingDirectory), { runtime, date: found.date });
      found = await current;
      isKept = false;
    }
    if (!isKept) root.log.changeDocument(ENVIRONMENT.put(root.id, found));
    isKept = true;
    return found;
  };
}

async function look(
  { cwd, gitRoot, branch }: SessionContext,
  { runtime, date }: Pick<EnvironmentOptions, "runtime"> & { date: string },
): Promise<Environment> {
  const shell = runtime.env.SHELL || runtime.env.ComSpec;
  return defined({
    workingDirectory: cwd,
    date,
    system: `${platform()} ${release()} ${arch()}`,
    shell: shell === undefined ? undefined : nameOf(basename(shell)),
    branch: branch === undefined ? undefined : nameOf(branch),
    isClean: gitRoot === undefined ? undefined : await isClean(gitRoot, runtime.gitLimitMs),
  });
}

/** The same repository is not asked twice at the same time: programs open many sessions in one folder. */
const asked = new Map<string, Promise<boolean | undefined>>();

function isClean(gitRoot: string, limitMs: number): Promise<boolean | undefined> {
  const known = asked.get(gitRoot);
  if (known) return known;
  const answer = import("../workspace/git-diff.ts")
    .then(({ hasChanges }) => hasChanges(gitRoot, AbortSignal.timeout(limitMs)))
    .then((isChanged) => !isChanged)
    .catch(() => undefined) // No git, not in time, or a repository that git does not trust: then nothing is said.
    .finally(() => asked.delete(gitRoot));
  asked.set(gitRoot, answer);
  return answer;
}

/** A branch is named by whoever made the repository. */
const nameOf = (name: string): string => visible(name.slice(0, MAX_NAME));

function dayOf(ms: number): string {
  const at = new Date(ms);
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
}
