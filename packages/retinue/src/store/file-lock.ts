/** A lock that one process has until it gives it back or ends, however it ends: an open transaction on a file of its own, which the system frees. */
import { openDatabase } from "./sqlite-door.ts";

export interface FileLock {
  release(): void;
}

/** Throws when another process has it. */
export function lockFile(path: string): FileLock {
  const lock = openDatabase(path);
  try {
    lock.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE");
    return { release: () => lock.close() };
  } catch (error) {
    lock.close();
    throw error;
  }
}
