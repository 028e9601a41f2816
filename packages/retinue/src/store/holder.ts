/** Identifies this process, and checks whether another is alive: by pid and start tick, since pids are reused. */
import { readFileSync } from "node:fs";
import type { Holder } from "./store.ts";

let own: Holder | undefined;

export function thisProcess(): Holder {
  own ??= { pid: process.pid, startedAt: startTick(process.pid) };
  return own;
}

export function isProcessAlive({ pid, startedAt }: Holder): boolean {
  try {
    process.kill(pid, 0); // Signal 0 only checks that the process exists.
  } catch (error) {
    const isForeign = error instanceof Error && "code" in error && error.code === "EPERM";
    if (!isForeign) return false;
  }
  const { state = "", tick } = statOf(pid);
  return tick === startedAt && !ENDED.includes(state);
}

/** When the kernel started the process, in ticks since boot; 0 where there is no /proc. */
export function startTick(pid: number): number {
  return statOf(pid).tick;
}

/** It has ended, and its parent has not asked for its exit code yet. */
const ENDED = ["Z", "X"];

function statOf(pid: number): { state?: string; tick: number } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0], tick: Number(fields[19]) };
  } catch {
    return { tick: 0 }; // No /proc on this system, or the process has just ended: the pid alone decides.
  }
}
