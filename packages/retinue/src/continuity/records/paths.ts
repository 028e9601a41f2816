/** Folders as names: which of them lies in which. Projects are compared as text, so they are brought into one form first. */
import { realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, normalize, parse, resolve, sep } from "node:path";

/** Without `.` and `..`, doubled slashes and a slash at the end. */
export function tidyPath(path: string): string {
  if (!isAbsolute(path)) return path;
  const plain = normalize(path);
  return dirname(plain) === plain ? plain : withoutSlashes(plain);
}

function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && (path[end - 1] === "/" || path[end - 1] === "\\")) end--;
  return path.slice(0, end);
}

/** A path with `..` in it may lead anywhere, and is in no folder. */
export function isWithin(path: string, folder: string): boolean {
  if (/(?:^|[\\/])\.\.(?:[\\/]|$)/.test(path)) return false;
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** No system opens a longer path, so it leads nowhere else. */
const MAX_PATH = 4096;

/** Where a path leads when links are followed. What does not exist yet is where its nearest folder leads. */
export function realPath(path: string): { path: string; isOther: boolean } {
  if (path.length > MAX_PATH) return { path, isOther: false };
  const whole = existing(path);
  if (whole !== undefined) return whole;
  const names = path.split(sep);
  // What is below something that exists may not, and never the other way round, so half of the rest is decided with each look.
  let found = existing(parse(path).root || ".") ?? { path, isOther: false };
  let [from, to] = [1, names.length];
  while (to - from > 1) {
    const middle = (from + to) >> 1;
    const real = existing(names.slice(0, middle).join(sep));
    if (real !== undefined) [found, from] = [real, middle];
    else to = middle;
  }
  return { ...found, path: join(found.path, ...names.slice(from)) };
}

function existing(path: string): { path: string; isOther: boolean } | undefined {
  try {
    const real = realpathSync(path);
    const stat = statSync(real);
    return { path: real, isOther: !stat.isFile() && !stat.isDirectory() };
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return undefined;
    throw error;
  }
}

/** Also after links are followed. */
export function isReallyWithin(path: string, folder: string): boolean {
  if (!isWithin(path, folder)) return false;
  return !isAbsolute(path) || isWithin(realPath(resolve(path)).path, realPath(resolve(folder)).path);
}
