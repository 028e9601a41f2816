/** Resident memory and CPU time of a process and all processes below it, read from /proc. */
import { readdirSync, readFileSync } from "node:fs";

interface Process {
  pid: number;
  parent: number;
  pages: number;
  /** User and system time of all its threads, in clock ticks. */
  ticks: number;
}

const PAGE_BYTES = 4096;
const MS_PER_TICK = 10;

export function childrenOf(pid: number): number[] {
  return processes()
    .filter(({ parent }) => parent === pid)
    .map((child) => child.pid);
}

export const residentBytes = (root: number): number => sumBelow(root, ({ pages }) => pages) * PAGE_BYTES;

export const cpuMs = (root: number): number => sumBelow(root, ({ ticks }) => ticks) * MS_PER_TICK;

function sumBelow(root: number, count: (process: Process) => number): number {
  const all = processes();
  const below = (pid: number): number =>
    all.reduce((sum, one) => sum + (one.pid === pid ? count(one) : one.parent === pid ? below(one.pid) : 0), 0);
  return below(root);
}

function processes(): Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => read(Number(name)));
}

function read(pid: number): Process[] {
  try {
    // The name in parentheses may hold spaces: count the fields from its end.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = Number(fields[11]) + Number(fields[12]);
    return [{ pid, parent: Number(fields[1]), pages: Number(fields[21]), ticks }];
  } catch {
    return []; // It ended between the listing and the reading.
  }
}
