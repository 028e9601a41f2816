/**
 * The daemon's socket in the home folder. Where only the owner can put files, whoever answers there is the owner's daemon, so the
 * token may be sent without more ado.
 */
import { statSync } from "node:fs";
import { join } from "node:path";

/** What the address of a socket may have on every system that we run on. */
const MAX_BYTES = 103;

/** Undefined where there are no sockets in folders, or the path is too long for one. */
export function socketPath(home: string): string | undefined {
  const path = join(home, "daemon.sock");
  return process.platform === "win32" || Buffer.byteLength(path) > MAX_BYTES ? undefined : path;
}

/** The same, when nobody else can have put a socket there. */
export function trustedSocket(home: string): string | undefined {
  const path = socketPath(home);
  const folder = path === undefined ? undefined : statSync(home, { throwIfNoEntry: false });
  const isOwn = folder !== undefined && folder.uid === process.getuid?.() && (folder.mode & 0o022) === 0;
  return isOwn ? path : undefined;
}
