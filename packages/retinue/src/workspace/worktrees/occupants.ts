/** Who lives in a folder: processes that work there. Only Linux says so; elsewhere nobody is found. */
import { readlinkSync } from "node:fs";
import { allPids } from "../../processes/process-table.ts";
import { isWithin, realPath } from "../../real-path.ts";

export function occupantsOf(folder: string): number[] {
  const real = realPath(folder);
  return allPids().filter((pid) => {
    const cwd = folderOf(pid);
    return cwd !== undefined && isWithin(real, cwd);
  });
}

function folderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined; // It has ended, or belongs to somebody else.
  }
}
