/** Where a path leads, and whether it is inside a folder. */
import { readlinkSync } from "node:fs";
import { isAbsolute, join, parse, relative, resolve, sep } from "node:path";

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
  let real = new RealNames(parse(path).root);
  const names = path.slice(real.root.length).split(sep).reverse();
  while (names.length > 0) {
    const name = names.pop() ?? "";
    if (name === "" || name === ".") continue;
    if (name === "..") {
      real.pop();
      continue;
    }
    const target = real.linkBelow(name);
    if (target === undefined) {
      real.push(name);
      continue;
    }
    if (++links > MAX_LINKS) return join(real.path, name, ...names.reverse()); // A circle; nothing can be opened there.
    if (isAbsolute(target)) real = new RealNames(parse(target).root);
    for (const each of target.split(sep).reverse()) names.push(each);
  }
  return real.path;
}

/** No system opens a longer path, so there is nothing to look for at one. */
const MAX_PATH = 4096;

/**
 * A path without links, as far as it was followed.
 *
 * A path that somebody else wrote may have thousands of names, so each is looked at once, and nothing is looked for below what is missing.
 */
class RealNames {
  readonly root: string;
  readonly #names: string[] = [];
  #length = 0;
  /** How many names lead to the first one that does not exist. */
  #missing = Number.POSITIVE_INFINITY;

  constructor(root: string) {
    this.root = root;
  }

  get path(): string {
    return this.root + this.#names.join(sep);
  }

  push(name: string): void {
    this.#names.push(name);
    this.#length += name.length + 1;
  }

  pop(): void {
    this.#length -= (this.#names.pop()?.length ?? -1) + 1;
    if (this.#names.length < this.#missing) this.#missing = Number.POSITIVE_INFINITY;
  }

  linkBelow(name: string): string | undefined {
    const depth = this.#names.length + 1;
    if (depth > this.#missing || this.#length + name.length > MAX_PATH) return undefined;
    try {
      return readlinkSync(this.root + [...this.#names, name].join(sep));
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") this.#missing = depth;
      return undefined; // No link, or it may not be looked at.
    }
  }
}
