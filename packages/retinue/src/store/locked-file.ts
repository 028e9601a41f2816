/** Work on a file by one at a time, also among processes. */
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { AppError } from "@retinue/protocol";
import { makePrivateFile, makePrivateFolder } from "./private-files.ts";

const LOCK_PAUSE_MS = 50;
/** Longer than one who holds it may take: a request to renew a sign-in. */
const LOCK_TRIES = 1200;

/** `what`: the words for whoever has waited in vain. */
export async function withFileLock<T>(
  { path, what }: { path: string; what: string },
  work: () => T | Promise<T>,
): Promise<T> {
  const { lockFile } = await import("./file-lock.ts");
  makePrivateFolder(dirname(path));
  makePrivateFile(path);
  for (let tries = 0; tries < LOCK_TRIES; tries++) {
    const lock = attempt(() => lockFile(path));
    if (!lock) {
      await pause(LOCK_PAUSE_MS);
      continue;
    }
    try {
      return await work();
    } finally {
      lock.release();
    }
  }
  throw new AppError("timed_out", `another process does not let go of ${what}`);
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && /lock|busy/i.test(error.message)) return undefined;
    throw error;
  }
}
