/**
 * The one place that decides who may read what we keep: the owner alone. Folders are 0700 and files 0600, whatever the umask is.
 *
 * What we make is private from the beginning. `prepareHome` mends a home of an earlier version, or one that was copied: only what is
 * ours in it, and never through a link. Windows has no such modes; there the home inherits the protection of the user's profile.
 */
import {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, parse, resolve } from "node:path";

export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;
const OTHERS = 0o077;
const STICKY = 0o1000;

/** Makes a folder, and those above it that are missing. */
export function makePrivateFolder(path: string): void {
  if (existsSync(path) && statSync(path).isDirectory()) return;
  const above = dirname(resolve(path));
  // Step by step: where nothing can be made, as in /proc, Node would try to make the whole path again and again.
  if (!existsSync(above)) makePrivateFolder(above);
  try {
    mkdirSync(path, { mode: PRIVATE_FOLDER });
  } catch (error) {
    if (!existsSync(path) || !statSync(path).isDirectory()) throw error; // Otherwise somebody else has just made it.
  }
}

/** Makes an empty file when there is none, so that a library which opens it finds the right mode. SQLite gives that mode to the files beside it. */
export function makePrivateFile(path: string): void {
  closeSync(openSync(path, "a", PRIVATE_FILE));
}

export function writePrivateFile(path: string, text: string): void {
  writeFileSync(path, text, { mode: PRIVATE_FILE });
}

export function appendPrivateFile(path: string, text: string): void {
  appendFileSync(path, text, { mode: PRIVATE_FILE });
}

/** What we write into a home ourselves. The rest of it, such as agents/ and skills/, is the user's and is protected by the home's own mode. */
const OURS =
  /^(?:retinue\.db.*|daemon\.(?:json|token|lock|launch|log).*|connectors\.json|config\.(?:json|yaml)|node-notice|logs|session-state|backups|mcp-oauth|agent-catalog\.json)$/;

/** Makes the home when it is missing, and takes from others what they can read of it. What cannot be changed, the doctor reports. Returns what is wrong when the home is somebody else's; then nothing in it is changed. */
export function prepareHome(home: string, uid = process.getuid?.()): HomeTrouble | undefined {
  makePrivateFolder(home);
  if (!hasModes()) return undefined;
  const foreign = foreignHome(home, uid);
  if (foreign) return foreign;
  const { places, isHomeOpen } = examine(home);
  for (const path of places) tighten(path);
  if (isHomeOpen && mayClose(home)) closeToOthers(realpathSync(home));
  return undefined;
}

export interface HomeTrouble {
  what: string;
  /** The command or the step that mends it. */
  cure: string;
}

/** What others can do with this home, and what its owner should do about it. */
export function homeTrouble(home: string, uid = process.getuid?.()): HomeTrouble | undefined {
  if (!hasModes()) return undefined;
  const foreign = foreignHome(home, uid);
  if (foreign) return foreign;
  const { places, isHomeOpen } = examine(home);
  if (isHomeOpen && !mayClose(home))
    return {
      what: `${home} is a folder that others use too`,
      cure: "Set RETINUE_HOME to a folder that is used for nothing else.",
    };
  const open = isHomeOpen ? [home, ...places] : places;
  if (open.length === 0) return undefined;
  const named = open.length > 3 ? `${open.slice(0, 3).join(", ")} and ${open.length - 3} more` : open.join(", ");
  return { what: `others can read ${named}`, cure: `Run: chmod -R go-rwx ${open.map(quoted).join(" ")}` };
}

function foreignHome(home: string, uid: number | undefined): HomeTrouble | undefined {
  const owner = statSync(home).uid;
  if (uid === owner) return undefined;
  return {
    what: `${home} belongs to another user (${owner}), who can read and change everything in it`,
    cure: "Set RETINUE_HOME to a folder of your own.",
  };
}

/** What others can read of it. A folder that is closed is not looked into, so a home that is in order costs a few looks. */
function examine(home: string): { places: string[]; isHomeOpen: boolean } {
  const real = realpathSync(home); // The user may have put the home itself elsewhere; links inside it are not followed.
  const ours = readdirSync(real).filter((name) => OURS.test(name));
  return { places: ours.map((name) => join(real, name)).filter(isOpen), isHomeOpen: isOpen(real) };
}

const hasModes = () => process.platform !== "win32";

function isOpen(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat !== undefined && (stat.isFile() || stat.isDirectory()) && (stat.mode & OTHERS) !== 0;
}

/** Somebody may have named a folder that is not for us alone. Closing the temp folder or the root would break other programs. */
function mayClose(home: string): boolean {
  const real = realpathSync(home);
  const shared = [parse(real).root, homedir(), tmpdir()].map((each) => resolve(each));
  return !shared.includes(real) && (lstatSync(real).mode & STICKY) === 0;
}

/** A folder is closed after what is in it, so that an interrupted attempt is made again. */
function tighten(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory()) for (const name of readdirSync(path)) tighten(join(path, name));
  // A file with a second name is also somewhere else, where it is not ours.
  if (stat?.isDirectory() || (stat?.isFile() && stat.nlink === 1)) closeToOthers(path);
}

/** By its handle: between looking and changing, somebody could put a link in its place. */
function closeToOthers(path: string): void {
  let handle: number | undefined;
  try {
    handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { mode } = fstatSync(handle);
    if ((mode & OTHERS) !== 0) fchmodSync(handle, mode & ~OTHERS & 0o7777);
  } catch (error) {
    if (!isExpected(error)) throw error;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/** It is gone or a link by now, or it belongs to somebody else, or the disk is read-only: then it stays as it is. */
const isExpected = (error: unknown) =>
  error instanceof Error && "code" in error && /^(?:ENOENT|ELOOP|EACCES|EPERM|EROFS)$/.test(String(error.code));

const quoted = (path: string) => (/^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);
