/**
 * An agent that works in a worktree writes there and nowhere else, whatever rules, answers and modes say.
 *
 * Owns where it may write, why a call is refused, and what the rules of the folder that the worktree stands for mean in it. It is no sandbox: it judges
 * what a call says, and not what a program does that the call runs. Reading elsewhere is decided by the rules, as for everybody.
 */
import { tmpdir } from "node:os";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { PermissionRequest, PermissionRule } from "@retinue/protocol";
import { isWithin, realPath } from "../real-path.ts";
import type { Confinement, SessionPlace } from "../session/session.ts";
import { type ConfinedPlace, whyLineLeaves } from "./confined-lines.ts";
import { pathsOf, rulePath } from "./path-rules.ts";

const FILE_RULES = new Set(["read", "view", "grep", "glob", "write", "create", "edit"]);

/** Why the call would leave the worktree, in words for the model; undefined when it does not, or when nothing confines the agent. */
export function whyLeaves(request: PermissionRequest, place: SessionPlace): string | undefined {
  const { confinement } = place;
  if (!confinement) return undefined;
  const isOpen = (path: string) => isOpenIn(path, { ...place, confinement });
  switch (request.kind) {
    case "write": {
      const outside = pathsOf(request).find((path) => !isOpen(resolve(place.workingDirectory, path)));
      return outside && `it writes to ${outside}`;
    }
    case "shell":
      return whyLineLeaves(request.fullCommandText, confinedPlace({ ...place, confinement }, isOpen));
    case "mcp":
    case "custom-tool": {
      const named = pathsWithin(request.args).find((path) => isForbidden(realPath(path), confinement));
      return named && `it names ${named}`;
    }
    default:
      return undefined;
  }
}

type Confined = SessionPlace & { confinement: Confinement };

/** Its own folder without what makes it a worktree, the folder of the session, and temporary files. */
function isOpenIn(path: string, { folder, confinement }: Confined): boolean {
  const real = realPath(path);
  const root = realPath(confinement.root);
  if (isWithin(root, real))
    return !relative(root, real)
      .split(sep)
      .some((name) => name.toLowerCase() === ".git");
  if (isWithin(realPath(folder), real)) return true;
  return !isForbidden(real, confinement) && isWithin(realPath(tmpdir()), real);
}

function isForbidden(real: string, { root, mirrors, closed }: Confinement): boolean {
  return !isWithin(realPath(root), real) && [...mirrors, ...closed].some((folder) => isWithin(realPath(folder), real));
}

function confinedPlace(
  { workingDirectory, folder, confinement }: Confined,
  isOpen: ConfinedPlace["isOpen"],
): ConfinedPlace {
  const { root, mirrors, closed } = confinement;
  const both = (folders: readonly string[]) => [...new Set(folders.flatMap((each) => [each, realPath(each)]))];
  return { workingDirectory, isOpen, unspeakable: both([...mirrors, ...closed]), speakable: both([root, folder]) };
}

/** Absolute paths among the arguments of a tool that somebody else made. What a relative one means only its server knows. */
function pathsWithin(value: unknown, depth = 8): string[] {
  if (typeof value === "string") {
    if (/^file:\/\//i.test(value) && URL.canParse(value) && !new URL(value).host) return [fileURLToPath(value)];
    return isAbsolute(value) ? [value] : [];
  }
  if (typeof value !== "object" || value === null || depth === 0) return [];
  return Object.values(value).flatMap((each) => pathsWithin(each, depth - 1));
}

/** A rule against a file holds for its counterpart too: what is written there comes to the file when it is merged. `base` is where paths in rules begin. */
export function withCounterparts(
  rules: readonly PermissionRule[],
  { confinement, base }: { confinement: Confinement; base: string },
): readonly PermissionRule[] {
  return rules.flatMap((rule) => {
    if (rule.argument === null || !FILE_RULES.has(rule.kind)) return [rule];
    const named = rulePath(rule.argument, base);
    const paths = [named, realPath(named)].flatMap((path) => [path, ...counterpartsOf(path, confinement)]);
    return [...new Set(paths)].map((argument) => ({ ...rule, argument }));
  });
}

/** What a file in the worktree is in the folder that people know. */
export function originalOf(path: string, confinement: Confinement | undefined): string {
  const original = confinement?.mirrors.at(-1);
  if (!confinement || original === undefined || !isWithin(confinement.root, path)) return path;
  return join(original, relative(confinement.root, path));
}

/** Where a path of a folder that the worktree stands for is in the worktree; all of it, for a folder above that one. */
export function counterpartsOf(path: string, { root, mirrors }: Confinement): string[] {
  return mirrors.flatMap((folder) => {
    if (isWithin(path, folder)) return [root];
    return isWithin(folder, path) ? [join(root, relative(folder, path))] : [];
  });
}
