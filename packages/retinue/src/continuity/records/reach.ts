/**
 * How far an agent may recall: what was said in its own project and in its own tree of sessions, unless the user allows more
 * (`search.acrossProjects`). A person at the command line, or a program with the owner's token that speaks for no session, sees everything.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { AppError } from "@retinue/protocol";
import type { TranscriptSession } from "../../store/transcript-records.ts";
import type { TranscriptStore } from "../../store/transcripts.ts";
import { isWithin, tidyPath } from "./paths.ts";
import type { Caller } from "./scope.ts";

/** The project that a working folder belongs to: its git repository, else the folder itself. */
export function projectOf(folder: string): Required<Pick<Caller, "project" | "isExact">> {
  const start = tidyPath(folder);
  const home = resolve(homedir());
  let project = start;
  // A repository of the whole home folder, as some keep for their settings, is not the project of everything below it.
  for (let each = start; each !== dirname(each) && !isWithin(home, each); each = dirname(each)) {
    if (!existsSync(join(each, ".git"))) continue;
    project = each;
    break;
  }
  // Every project lies below the home folder; an agent that works there has none of them.
  return { project, isExact: isWithin(home, project) };
}

/** The caller, bound to the project of this folder as well. */
export function inProjectOf(caller: Caller, folder: string): Caller {
  const { project, isExact } = projectOf(folder);
  if (caller.project === undefined || isWithin(project, caller.project)) return { ...caller, project, isExact };
  if (!isExact && isWithin(caller.project, project)) return caller;
  throw new AppError("authentication_failed", "This token may not search in the project of that session");
}

/** Whether two sessions belong to one tree. */
export async function isSameTree(
  { sessions }: TranscriptStore,
  one: TranscriptSession,
  other: TranscriptSession,
): Promise<boolean> {
  return one.id === other.id || (await sessions.tree(one.id)).some(({ id }) => id === other.id);
}
