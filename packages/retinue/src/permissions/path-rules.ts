/**
 * Rules for files: what a path in a rule, and a folder, cover.
 *
 * Owns which paths a request is about, and the comparison. A request names each of its paths twice, as given and with links resolved.
 * To be allowed, all of them must be covered; to be denied, one is enough. A denial also looks at where the rule's own path leads, and does
 * not distinguish case and Unicode forms, because many file systems do not either.
 */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { PermissionRequest } from "@retinue/protocol";
import { isBelowAny, isWithin, realPath } from "../real-path.ts";

export type FileRequest = Extract<PermissionRequest, { kind: "read" | "write" }>;

/** Every path that a call opens, as it was given and with links resolved. */
export function pathsOf(request: FileRequest): string[] {
  const several = request.kind === "read" ? request.paths : undefined;
  const given = several ?? [
    { path: request.kind === "read" ? request.path : request.fileName, resolvedPath: request.resolvedPath },
  ];
  return given.flatMap(({ path, resolvedPath }) => (resolvedPath === undefined ? [path] : [path, resolvedPath]));
}

/** Whether a rule's argument covers a request. A relative path in a rule starts at the working folder (`base`). */
export function coversPaths(
  argument: string | null,
  request: FileRequest,
  { how, base }: { how: "some" | "every"; base: string },
): boolean {
  if (argument === null) return true;
  const folder = rulePath(argument, base);
  const paths = pathsOf(request).map((path) => resolve(base, path));
  if (how === "every") return paths.every((path) => isWithin(folder, path));
  return paths.some((path) => isBelowAny(path, [folder, realPath(folder)]));
}

/** The paths that deny rules name, each also with its links resolved. */
export function deniedPaths(arguments_: readonly string[], base: string): string[] {
  return [
    ...new Set(
      arguments_.flatMap((argument) => {
        const path = rulePath(argument, base);
        return [path, realPath(path)];
      }),
    ),
  ];
}

/** A link inside a folder must not give access to what is outside. */
export function isAllWithin(directories: readonly string[], request: FileRequest): boolean {
  return pathsOf(request).every((path) => directories.some((directory) => isWithin(directory, path)));
}

/** A folder and a link to it are the same folder. */
export function withTargets(directories: readonly string[]): string[] {
  return [...new Set(directories.flatMap((directory) => [directory, realPath(directory)]))];
}

export function rulePath(argument: string, base: string): string {
  if (argument === "~" || argument.startsWith("~/")) return join(homedir(), argument.slice(1));
  return resolve(base, argument);
}
