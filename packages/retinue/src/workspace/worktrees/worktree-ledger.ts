/**
 * The worktrees that agents work in, in the store: written down before each step, so that the next runtime can go on after any of them.
 *
 * An entry stays until its task has ended: whoever asks twice what became of the work gets the same answer.
 */
import { lazy, WorktreeResult } from "@retinue/protocol";
import * as z from "zod";
import { document } from "../../store/document.ts";

export const WorktreeEntry = lazy(() =>
  z.object({
    /** Of the folder, and of the ref that keeps the work. */
    name: z.string(),
    path: z.string(),
    /** The working tree that it was made from, and that its work is merged into. */
    top: z.string(),
    common: z.string(),
    /** The commit that it began with; absent while it is being made. */
    base: z.string().optional(),
    /** The commit of the agent's work, once it was collected. */
    work: z.string().optional(),
    result: WorktreeResult().optional(),
    /** Something lived in it when it was to be removed. */
    wasOccupied: z.boolean().optional(),
    isRemoved: z.boolean().optional(),
    /** The process that made it. */
    owner: z.object({ pid: z.number(), startedAt: z.number() }),
  }),
);
export type WorktreeEntry = z.output<ReturnType<typeof WorktreeEntry>>;

/** Under `<root session>/<task>`. */
export const WORKTREE = document("worktree", () => WorktreeEntry());

/** Work that is not merged is found here, until somebody deletes it. */
export const refOf = ({ name }: Pick<WorktreeEntry, "name">): string => `refs/retinue/${name}`;
