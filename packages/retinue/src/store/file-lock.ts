/** A lock that one process holds until it releases it or ends in any way: an open transaction on a file, which the system frees. */
import { openDatabase } from "./sqlite-door.ts";

export interface FileLock {
  release(): void;
}

/** Throws when another process holds it. */
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
