/**
 * Finding and ending the processes that carry a mark, wherever they have moved to, and everything below them.
 *
 * A process is signalled only if it is still the one that was found (pid and start tick), and never when it is this process or one that
 * this process was started by. Looking takes a few reads for each process that is younger than the runtime that made the mark, with a
 * pause after some of them, so that the event loop goes on.
 */
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { killMembers, membersOf, removeControlGroup } from "./control-group.ts";
import { hasMark } from "./mark.ts";
import { allPids, isSame, type ProcessEntry, readProcess, startEnvironment } from "./process-table.ts";

const AT_ONCE = 32;
const POLL_MS = 20;
const AFTER_KILL_MS = 2000;
const REMOVE_MS = 500;
/** What forks faster than it can be killed is given up, and left to the next runtime. */
const MAX_ROUNDS = 10;

export interface Wanted {
  marks: ReadonlySet<string>;
  /** The start tick of the process that made the marks: nothing older can have one. */
  since: number;
  /** Control groups whose members are meant as well. */
  groups: readonly string[];
}

/** Ends all of them: SIGTERM and a grace period if there is one, then SIGKILL. Says how many there were, and whether any is left. */
export async function endStrays(wanted: Wanted, graceMs: number): Promise<{ ended: number; isClean: boolean }> {
  const seen = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await findStrays(wanted);
    if (found.length === 0) return { ended: seen.size, isClean: await removeAll(wanted.groups) };
    for (const { pid } of found) seen.add(pid);
    const isGentle = round === 0 && graceMs > 0;
    if (!isGentle) for (const group of wanted.groups) killMembers(group);
    for (const entry of found) signal(entry, isGentle ? "SIGTERM" : "SIGKILL");
    await allGone(found, isGentle ? graceMs : AFTER_KILL_MS);
  }
  return { ended: seen.size, isClean: false };
}

/** The same at once, for a process that is about to exit and cannot wait. */
export function killStraysNow(wanted: Wanted): void {
  for (const group of wanted.groups) killMembers(group);
  const look = looking(wanted);
  let step = look.next();
  while (!step.done) step = look.next();
  for (const entry of step.value) signal(entry, "SIGKILL");
  for (const group of wanted.groups) removeControlGroup(group);
}

async function findStrays(wanted: Wanted): Promise<ProcessEntry[]> {
  const look = looking(wanted);
  let step = look.next();
  while (!step.done) {
    await nextTurn();
    step = look.next();
  }
  return step.value;
}

/** Yields where others may have a turn. */
function* looking({ marks, since, groups }: Wanted): Generator<void, ProcessEntry[]> {
  const living = new Map<number, ProcessEntry>();
  const found = new Set(groups.flatMap(membersOf));
  let reads = 0;
  for (const pid of allPids()) {
    if (++reads % AT_ONCE === 0) yield;
    const entry = readProcess(pid);
    if (!entry || entry.isDead || entry.tick < since) continue;
    living.set(pid, entry);
    if (hasMark(startEnvironment(pid), marks)) found.add(pid);
  }
  for (const pid of ownLine()) {
    found.delete(pid);
    living.delete(pid);
  }
  addBelow(found, living);
  return [...found].flatMap((pid) => living.get(pid) ?? []);
}

/** Children that have cleared their environment are known by their parent, as long as that one lives. */
function addBelow(found: Set<number>, living: ReadonlyMap<number, ProcessEntry>): void {
  const children = new Map<number, number[]>();
  for (const { pid, parent } of living.values()) children.set(parent, [...(children.get(parent) ?? []), pid]);
  const open = [...found];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    const below = (children.get(pid) ?? []).filter((child) => !found.has(child));
    for (const child of below) found.add(child);
    open.push(...below);
  }
}

/** This process and those that it was started by. An agent may have restarted the runtime from a shell. */
function ownLine(): number[] {
  const line: number[] = [];
  for (let pid = process.pid; pid > 0 && !line.includes(pid); pid = readProcess(pid)?.parent ?? 0) line.push(pid);
  return line;
}

function signal(entry: ProcessEntry, name: "SIGTERM" | "SIGKILL"): void {
  if (!isSame(entry)) return;
  try {
    process.kill(entry.pid, name);
  } catch {
    return; // It has just ended, or became somebody else's: neither can be helped.
  }
}

async function allGone(entries: readonly ProcessEntry[], withinMs: number): Promise<void> {
  const until = Date.now() + withinMs;
  while (entries.some(isSame) && Date.now() < until) await delay(POLL_MS);
}

/** A killed member counts until its parent has looked, which takes a moment. */
async function removeAll(groups: readonly string[]): Promise<boolean> {
  const until = Date.now() + REMOVE_MS;
  for (const group of groups) {
    while (!removeControlGroup(group)) {
      if (Date.now() >= until) return false;
      await delay(POLL_MS);
    }
  }
  return true;
}
