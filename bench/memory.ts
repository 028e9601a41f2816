/** Resident memory of a process and all processes below it, read from /proc. */
import { readdirSync, readFileSync } from "node:fs";

interface Process {
  pid: number;
  parent: number;
  pages: number;
}

const PAGE_BYTES = 4096;

export function childrenOf(pid: number): number[] {
  return processes()
    .filter(({ parent }) => parent === pid)
    .map((child) => child.pid);
}

export function residentBytes(root: number): number {
  const all = processes();
  const below = (pid: number): number =>
    all.reduce((sum, one) => sum + (one.pid === pid ? one.pages : one.parent === pid ? below(one.pid) : 0), 0);
  return below(root) * PAGE_BYTES;
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
    return [{ pid, parent: Number(fields[1]), pages: Number(fields[21]) }];
  } catch {
    return []; // It ended between the listing and the reading.
  }
}
