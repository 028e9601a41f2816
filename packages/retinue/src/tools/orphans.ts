/**
 * Ends what the shells of a killed runtime left behind. A runtime that ends in order ends its shells itself (process-group.ts); one that
 * was killed cannot, so whoever opens its session next does.
 *
 * A shell and all it starts carry the id of their session in their environment. Without a /proc to read it from, nothing is ended.
 */
import { readdirSync, readFileSync } from "node:fs";

export const SESSION_VARIABLE = "RETINUE_SESSION_ID";
/** Set for shells that may outlive their session. */
export const DETACHED_VARIABLE = "RETINUE_DETACHED";

/** Only for sessions that no living process has open. Returns how many processes it ended. */
export function endOrphans(sessionIds: ReadonlySet<string>): number {
  if (process.platform !== "linux") return 0;
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.filter((pid) => isOrphan(pid, sessionIds) && end(Number(pid))).length;
}

function isOrphan(pid: string, sessionIds: ReadonlySet<string>): boolean {
  const variables = environmentOf(pid);
  if (variables.some((variable) => variable.startsWith(`${DETACHED_VARIABLE}=`))) return false;
  return variables.some(
    (variable) =>
      variable.startsWith(`${SESSION_VARIABLE}=`) && sessionIds.has(variable.slice(SESSION_VARIABLE.length + 1)),
  );
}

function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return []; // Somebody else's, or it has just ended.
  }
}

function end(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false; // It has just ended by itself.
  }
}
