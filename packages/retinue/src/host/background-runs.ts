/**
 * Processes that a session leaves behind on purpose, in the store: what each is for, until when it may work, and how it ended.
 *
 * A run is recorded before its process is started, and the process enters itself. What it says is compared with the process table, so that one
 * that was killed is never taken for running. Whoever opens the home ends what has outlived its time.
 */
import { setTimeout } from "node:timers/promises";
import * as z from "zod";
import { document } from "../store/document.ts";
import { isProcessAlive } from "../store/holder.ts";
import type { Documents } from "../store/store.ts";

const run = () =>
  z.object({
    kind: z.literal("consolidation"),
    /** The board that it works on. */
    place: z.object({ repository: z.string(), branch: z.string() }),
    /** The session that it looks back on. */
    sessionId: z.string(),
    workingDirectory: z.string(),
    startedAt: z.number(),
    /** It must not work longer. */
    until: z.number(),
    holder: z.object({ pid: z.number(), startedAt: z.number() }).optional(),
    end: z.object({ at: z.number(), how: z.enum(["done", "failed", "stopped", "lost"]), words: z.string() }).optional(),
  });

/** By id, which begins with the time, so that they are listed in order. */
const RUN = document("background-run", run);
export type BackgroundRun = z.output<ReturnType<typeof run>>;
type RunEnd = NonNullable<BackgroundRun["end"]>;

/** `lost`: its process is gone without a word, or never came. */
export type RunState = "starting" | "running" | "done" | "failed" | "stopped" | "lost";

/** A process that has not come by then will not come. */
const START_MS = 60_000;
/** How long a process may take to end itself after its time. */
const GRACE_MS = 15_000;
/** Between two looks at a process that is being killed. */
const GONE_MS = 20;
const GONE_LOOKS = 100;
/** Older ones are forgotten. */
const MAX_KEPT = 50;

export function stateOf({ end, holder, startedAt }: BackgroundRun, now: number): RunState {
  if (end) return end.how;
  if (holder) return isProcessAlive(holder) ? "running" : "lost";
  return now - startedAt < START_MS ? "starting" : "lost";
}

/** Newest first. */
export async function listRuns(documents: Documents): Promise<{ id: string; run: BackgroundRun }[]> {
  const { found } = await RUN.list(documents, "");
  return found.map(({ key, value }) => ({ id: key, run: value })).reverse();
}

export function findRun(documents: Documents, id: string): Promise<BackgroundRun | undefined> {
  return RUN.get(documents, id);
}

export async function saveRun(documents: Documents, id: string, value: BackgroundRun): Promise<void> {
  const old = (await listRuns(documents)).slice(MAX_KEPT).map(({ id: key }) => RUN.remove(key));
  await documents.write([RUN.put(id, value), ...old]);
}

/**
 * Ends what has outlived its time, and what was ended from outside gets its end too. `forget` removes what a process would have removed by itself.
 * Returns how many there were.
 */
export async function endLeftRuns(
  documents: Documents,
  { now, forget }: { now: number; forget: (id: string) => Promise<unknown> },
): Promise<number> {
  let ended = 0;
  for (const { id, run: each } of await listRuns(documents)) {
    const end = await endOfLeft(each, now);
    if (!end) continue;
    await forget(id); // First: with its end on record nobody would look at it again.
    await documents.write([RUN.put(id, { ...each, end: { ...end, at: now } })]);
    ended++;
  }
  return ended;
}

/** Undefined for a run that has an end, or time left. */
async function endOfLeft(each: BackgroundRun, now: number): Promise<Omit<RunEnd, "at"> | undefined> {
  const { holder, until, end } = each;
  const state = stateOf(each, now);
  if (!end && state === "lost") return { how: "lost", words: "Its process is gone without a word." };
  if (!holder || state !== "running" || now < until + GRACE_MS) return undefined;
  process.kill(holder.pid, "SIGKILL"); // By pid and start tick it is that process and no other.
  for (let look = 0; look < GONE_LOOKS && isProcessAlive(holder); look++) await setTimeout(GONE_MS); // It has its session until then.
  return { how: "stopped", words: "It had outlived its time." };
}
