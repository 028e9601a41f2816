/**
 * The worktrees that agents work in, in the store: written down before each step, so that the next runtime can go on after any of them.
 *
 * An entry stays until its task has ended: whoever asks twice what became of the work gets the same answer.
 */
import { lazy } from "@retinue/protocol";
import * as z from "zod";
import { document } from "../../store/document.ts";

/** What became of the work of an agent. */
export const WorktreeResult = lazy(() =>
  z.discriminatedUnion("type", [
    /** It has changed nothing that git would keep. */
    z.object({ type: z.literal("unchanged") }),
    /** Its changes are in the working tree, uncommitted. */
    z.object({ type: z.literal("merged"), files: z.array(z.string()) }),
    /** They could not be merged; the working tree is as it was, and the work is kept under this name. */
    z.object({ type: z.literal("conflicts"), files: z.array(z.string()), why: z.string(), ref: z.string() }),
    /** The agent has not completed, so nothing was merged. */
    z.object({ type: z.literal("kept"), files: z.array(z.string()), ref: z.string() }),
    /** Git failed. Without a ref there is no work that could be kept. */
    z.object({ type: z.literal("failed"), error: z.string(), ref: z.string().optional() }),
  ]),
);
export type WorktreeResult = z.output<ReturnType<typeof WorktreeResult>>;

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
