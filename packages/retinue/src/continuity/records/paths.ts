/** Folders as names: which of them lies in which. Projects are compared as text, so they are brought into one form first. */
import { realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, normalize, resolve } from "node:path";

/** Without `.` and `..`, doubled slashes and a slash at the end. */
export function tidyPath(path: string): string {
  if (!isAbsolute(path)) return path;
  const plain = normalize(path);
  return dirname(plain) === plain ? plain : plain.replace(/[\\/]+$/, "");
}

/** A path with `..` in it may lead anywhere, and is in no folder. */
export function isWithin(path: string, folder: string): boolean {
  if (/(?:^|[\\/])\.\.(?:[\\/]|$)/.test(path)) return false;
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** Where a path leads when links are followed. What does not exist yet is where its nearest folder leads. */
export function realPath(path: string): { path: string; isOther: boolean } {
  try {
    const real = realpathSync(path);
    const stat = statSync(real);
    return { path: real, isOther: !stat.isFile() && !stat.isDirectory() };
  } catch (error) {
    if (!(error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")))
      throw error;
    const parent = dirname(path);
    return parent === path
      ? { path, isOther: false }
      : { ...realPath(parent), path: join(realPath(parent).path, basename(path)) };
  }
}

/** Also after links are followed. */
export function isReallyWithin(path: string, folder: string): boolean {
  if (!isWithin(path, folder)) return false;
  return !isAbsolute(path) || isWithin(realPath(resolve(path)).path, realPath(resolve(folder)).path);
}
