/**
 * Agents that work apart from the others, in a git worktree each.
 *
 * Owns when one is made and when its work is brought back: before the start of the agent is recorded, and before its end is. So the end of a task says what
 * became of its work. How it is done is behind the port (workspace/worktrees/worktrees.ts).
 */
import { existsSync } from "node:fs";
import { messageOf, type WorktreeResult } from "@retinue/protocol";
import type { SessionPlace } from "../session/session.ts";
import type { Mode } from "../session/state.ts";
import { hasMessage } from "./messages.ts";
import type { End } from "./moves.ts";
import { type AgentRecord, recordKey } from "./record.ts";

export interface Isolation {
  /** Refuses in words where there can be no worktree. */
  prepare(wanted: { key: string; label: string; folder: string }, signal: AbortSignal): Promise<Place>;
  /** Collects, merges if that is wanted and there is no obstacle then, and removes. Asked again, it gives the same answer; undefined: no worktree. */
  settle(
    key: string,
    options: { isWanted: boolean; obstacle(): string | undefined },
  ): Promise<WorktreeResult | undefined>;
}

type Place = Required<Pick<SessionPlace, "workingDirectory" | "confinement">>;

/** Gives a new agent its place, when it is to have one of its own. */
export async function enter(
  record: AgentRecord,
  isolation: Isolation,
  { owner, signal }: { owner: SessionPlace; signal: AbortSignal },
): Promise<void> {
  if (record.isolation === undefined) return;
  const wanted = { key: recordKey(record), label: record.name, folder: owner.workingDirectory };
  const { workingDirectory, confinement } = await isolation.prepare(wanted, signal);
  const { mirrors = [] } = owner.confinement ?? {}; // A worktree of a worktree stands for both.
  record.place = {
    workingDirectory,
    confinement: { ...confinement, mirrors: [...confinement.mirrors, ...mirrors], closed: [...confinement.closed] },
  };
}

/** Brings its work back before its end is recorded; in plan mode the working tree stays as it is, whenever the agent wrote. */
export async function leave(
  record: AgentRecord,
  isolation: Isolation,
  { end, mode }: { end: End; mode(): Mode },
): Promise<void> {
  if (record.isolation === undefined || !record.place || record.worktree) return;
  const isWanted = end.way === "completed";
  if (isWanted && hasMessage(record)) return; // It goes on.
  const result = await isolation
    .settle(recordKey(record), { isWanted, obstacle: () => (mode() === "plan" ? "plan mode is on" : undefined) })
    .catch((error: unknown): WorktreeResult => ({ type: "failed", error: messageOf(error) }));
  if (!result) return;
  record.worktree = result;
  record.note = [record.note, wordsOf(result)].filter(Boolean).join(" ");
}

/** Its place was removed, because another process had settled it or somebody has deleted it. */
export const isPlaceGone = ({ place }: AgentRecord): boolean =>
  place !== undefined && !existsSync(place.workingDirectory);

const MAX_NAMED = 20;

function wordsOf(result: WorktreeResult): string {
  switch (result.type) {
    case "unchanged":
      return "It has changed no files.";
    case "merged":
      return result.files.length === 0
        ? "Its changes were in the working tree already."
        : `Its changes are in the working tree, not committed: ${listed(result.files)}.`;
    case "conflicts":
      return `Its changes were not merged, and the working tree is as it was: ${conflictWords(result)}. ${whereKept(result.ref)}`;
    case "kept":
      return `Its changes were not merged, because it has not completed: ${listed(result.files)}. ${whereKept(result.ref)}`;
    case "failed":
      return `Its changes could not be merged: ${result.error}. ${result.ref === undefined ? "" : whereKept(result.ref)}`.trim();
  }
}

/** Why, and where; there are no files when they were being changed. */
export const conflictWords = ({ why, files }: { why: string; files: readonly string[] }): string =>
  files.length > 0 ? `${why} (${listed(files)})` : why;

const whereKept = (ref: string): string =>
  `They are kept as ${ref}: \`git show ${ref}\` shows them, \`git cherry-pick -n ${ref}\` takes them over.`;

function listed(files: readonly string[]): string {
  const more = files.length - MAX_NAMED;
  return files.slice(0, MAX_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
