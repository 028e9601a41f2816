/**
 * Ends a process group: SIGTERM, a grace period, SIGKILL, and a look whether anything is left.
 *
 * Groups that live are also killed when this process exits, so that an early exit of ours leaves no shells behind.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const POLL_MS = 20;
const AFTER_KILL_MS = 2000;
const living = new Map<number, { outlivesUs: boolean }>();
let isWatchingExit = false;

export type Signal = "SIGINT" | "SIGTERM" | "SIGKILL";

export function rememberGroup(pgid: number, { outlivesUs }: { outlivesUs: boolean }): void {
  living.set(pgid, { outlivesUs });
  if (isWatchingExit) return;
  isWatchingExit = true;
  process.on("exit", () => {
    for (const [group, { outlivesUs }] of living) if (!outlivesUs) signalGroup(group, "SIGKILL");
  });
}

/** Drops a group that is empty; from then on its number may belong to somebody else and is never signalled. True if it is. */
export function forgetGroupIfGone(pgid: number): boolean {
  if (isAlive(pgid)) return false;
  living.delete(pgid);
  return true;
}

/** False when nothing of the group is left. */
export function signalGroup(pgid: number, signal: Signal): boolean {
  return living.has(pgid) && send(pgid, signal);
}

export async function killGroup(pgid: number, { graceMs }: { graceMs: number }): Promise<void> {
  if (signalGroup(pgid, "SIGTERM") && !(await gone(pgid, graceMs)) && signalGroup(pgid, "SIGKILL")) {
    await gone(pgid, AFTER_KILL_MS);
  }
  living.delete(pgid);
}

async function gone(pgid: number, withinMs: number): Promise<boolean> {
  const until = Date.now() + withinMs;
  while (isAlive(pgid) && !isAllZombies(pgid)) {
    if (Date.now() >= until) return false;
    await delay(POLL_MS);
  }
  return true;
}

function isAlive(pgid: number): boolean {
  return send(pgid, 0);
}

/** The dead whose new parent has not looked yet still count as members; they hold nothing and need no killing. */
function isAllZombies(pgid: number): boolean {
  if (process.platform !== "linux") return false;
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return !pids.some((pid) => isLivingMember(pid, pgid));
}

function isLivingMember(pid: string, pgid: number): boolean {
  try {
    // pid (name) state ppid pgrp …; the name may have spaces and brackets of its own.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return group === String(pgid) && state !== "Z" && state !== "X";
  } catch {
    return false; // It ended while we were looking.
  }
}

function send(pgid: number, signal: Signal | 0): boolean {
  try {
    return process.kill(-pgid, signal);
  } catch (error) {
    // EPERM: the group is there, but what is left of it runs as somebody else.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
