/** Where a path leads, and whether it is inside a folder. */
import { readlinkSync } from "node:fs";
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from "node:path";

export function isWithin(directory: string, path: string): boolean {
  const way = relative(directory, resolve(directory, path));
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** For file systems that do not distinguish case or Unicode forms: two such names may be one file. */
export const foldedPath = (path: string): string => path.normalize("NFC").toLowerCase();

/** Whether a path is one of these or below one, as a file system that distinguishes little would see it. */
export function isBelowAny(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isWithin(foldedPath(folder), foldedPath(path)));
}

const MAX_LINKS = 40;

/**
 * Where an absolute path leads once links are followed. What does not exist is added as it is, and a link to nothing leads to where its
 * target would be: somebody may still make it.
 */
export function realPath(path: string): string {
  let links = 0;
  const { root } = parse(path);
  let real = root;
  const names = path.slice(root.length).split(sep).reverse();
  while (names.length > 0) {
    const name = names.pop() ?? "";
    if (name === "" || name === ".") continue;
    if (name === "..") {
      real = dirname(real);
      continue;
    }
    const next = join(real, name);
    const target = linkAt(next);
    if (target === undefined) {
      real = next;
      continue;
    }
    if (++links > MAX_LINKS) return join(next, ...names.reverse()); // A circle; nothing can be opened there.
    if (isAbsolute(target)) real = parse(target).root;
    names.push(...target.split(sep).reverse());
  }
  return real;
}

/** Absent for what is no link, does not exist, or may not be looked at. */
function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
