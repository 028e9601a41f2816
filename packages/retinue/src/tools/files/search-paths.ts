/**
 * Where a search looks: the `paths` of a call, one or several, each checked by itself, and the permission for all of them.
 *
 * Owns what ripgrep is given: a path through which no link leads elsewhere, and what it has to leave out.
 */
import path from "node:path";
import type { PermissionRequest } from "@retinue/protocol";
import * as z from "zod";
import { isBelowAny, isWithin, realPath } from "../../real-path.ts";
import { refuseTooLong } from "../longest.ts";
import type { CallContext } from "../tool.ts";
import { type CheckedPath, checkedPath, linkOf } from "./checked-path.ts";
import { resolvePath } from "./file-path.ts";

export const searchPaths = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .describe("File or folder, or a list of them; absent: the working folder.");

export const listOf = (paths: string | readonly string[] | undefined): readonly string[] => {
  const list = typeof paths === "string" ? [paths] : (paths ?? []);
  return list.length === 0 ? ["."] : list;
};

export interface SearchPlace extends CheckedPath {
  /** As the model wrote it. */
  readonly given: string;
}

export function searchPlace(given: string, workingDirectory: string): SearchPlace {
  refuseTooLong("path", given);
  return {
    given,
    ...checkedPath(resolvePath(given, workingDirectory)),
  };
}

export function readPermission(
  places: readonly SearchPlace[],
  { callId, what }: { callId: string; what: string },
): Extract<PermissionRequest, { kind: "read" }> {
  const [first = checkedPath("/"), ...others] = places;
  const request = { kind: "read" as const, toolCallId: callId };
  if (others.length === 0) {
    return { ...request, path: first.path, resolvedPath: linkOf(first), intention: `${what}: ${first.path}` };
  }
  return {
    ...request,
    path: commonFolder(places.map((place) => place.path)),
    paths: places.map((place) => ({ path: place.path, resolvedPath: linkOf(place) })),
    intention: `${what}: ${places.map((place) => place.path).join(", ")}`,
  };
}

function commonFolder([first = "/", ...others]: readonly string[]): string {
  let folder = first;
  while (!others.every((file) => isWithin(folder, file))) folder = path.dirname(folder);
  return folder;
}

/** The path as ripgrep gets it: as it was given where that is the same, otherwise where it was found to lead. */
export function pathForSearch({ given, path: full, target }: SearchPlace, workingDirectory: string): string {
  const isPlain = !given.startsWith("~") && !given.split(/[\\/]/).includes("..");
  const withoutLinks = path.resolve(realPath(workingDirectory), path.relative(workingDirectory, full));
  return isPlain && (target === full || target === withoutLinks) ? given : target;
}

/** What the rules forbid to read below the searched places. */
export function leftOut(places: readonly SearchPlace[], { rules }: Pick<CallContext, "rules">): readonly string[] {
  return rules.unreadable().filter((denied) =>
    isBelowAny(
      denied,
      places.map(({ target }) => target),
    ),
  );
}

export const leftOutNote = (denied: readonly string[]): string =>
  denied.length === 0 ? "" : `[left out, because a rule denies reading it: ${denied.join(", ")}]`;
