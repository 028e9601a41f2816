/**
 * One at a time for each repository, whichever fleet, session or process wants it: whoever looks at the working tree or changes it waits here.
 *
 * The lock is a file in the repository, because processes with different home folders may work on one repository. The system frees it with its process.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { lockFile } from "../../store/file-lock.ts";
import { makePrivateFile } from "../../store/private-files.ts";

const LOCK = "retinue.lock";
const TRY_AGAIN_MS = 25;
const waiting = new Map<string, Promise<unknown>>();

export async function inTurn<T>(common: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const before = waiting.get(common) ?? Promise.resolve();
  const mine = before.then(() => alone(common, signal, work));
  const settled = mine.catch(() => undefined); // Whoever called gets the error.
  waiting.set(common, settled);
  void settled.then(() => {
    if (waiting.get(common) === settled) waiting.delete(common);
  });
  return await mine;
}

async function alone<T>(common: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const lock = await takeLock(join(common, LOCK), signal);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

async function takeLock(path: string, signal: AbortSignal): Promise<ReturnType<typeof lockFile>> {
  makePrivateFile(path);
  for (;;) {
    signal.throwIfAborted();
    try {
      return lockFile(path);
    } catch (error) {
      if (!isHeld(error)) throw error;
      await pause(TRY_AGAIN_MS, undefined, { signal });
    }
  }
}

const isHeld = (error: unknown): boolean => error instanceof Error && /locked|busy/i.test(error.message);
