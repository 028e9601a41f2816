/** The process table of Linux, read from /proc. On other systems it is empty, so nothing is found there and nothing is ended by it. */
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessEntry {
  pid: number;
  parent: number;
  group: number;
  /** When the kernel started it, in ticks since boot: with the pid it names one process for good. */
  tick: number;
  /** A zombie: it holds nothing, and needs no killing. */
  isDead: boolean;
}

export function allPids(): number[] {
  if (process.platform !== "linux") return [];
  try {
    return readdirSync("/proc").filter(isNumber).map(Number);
  } catch {
    return []; // Not mounted, as in some containers. Then process groups have to be enough.
  }
}

/** Nothing when the process has ended. */
export function readProcess(pid: number): ProcessEntry | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // pid (name) state ppid pgrp …; the name may have spaces and brackets of its own.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group] = fields;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    tick: Number(fields[19]),
    isDead: state === "Z" || state === "X",
  };
}

/** The variables that a process was started with, as far as it may be looked at and has not overwritten them. */
export function startEnvironment(pid: number): readonly string[] {
  return read(`/proc/${pid}/environ`)?.split("\0") ?? [];
}

export function isSame({ pid, tick }: Pick<ProcessEntry, "pid" | "tick">): boolean {
  const now = readProcess(pid);
  return now !== undefined && now.tick === tick && !now.isDead;
}

const isNumber = (name: string): boolean => /^\d+$/.test(name);

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined; // It ended while we were looking, or belongs to somebody else.
  }
}
