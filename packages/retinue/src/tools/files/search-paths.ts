/** Where a search looks: the `paths` of a call, one or several, and the one path that a permission for them names. */
import path from "node:path";
import type { PermissionRequest } from "@retinue/protocol";
import * as z from "zod";
import { linkTarget, resolvePath } from "./file-path.ts";

export const searchPaths = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .describe("File or folder, or a list of them; absent: the working folder.");

export const listOf = (paths: string | readonly string[] | undefined): readonly string[] => {
  const list = typeof paths === "string" ? [paths] : (paths ?? []);
  return list.length === 0 ? ["."] : list;
};

export function readPermission(
  paths: readonly string[],
  { workingDirectory, callId, what }: { workingDirectory: string; callId: string; what: string },
): Extract<PermissionRequest, { kind: "read" }> {
  const common = commonFolder(paths.map((each) => resolvePath(each, workingDirectory)));
  return {
    kind: "read",
    toolCallId: callId,
    path: common,
    resolvedPath: linkTarget(common),
    intention: `${what}: ${common}`,
  };
}

function commonFolder([first = "/", ...others]: readonly string[]): string {
  let folder = first;
  const isInside = (file: string) => !path.relative(folder, file).startsWith("..");
  while (!others.every(isInside)) folder = path.dirname(folder);
  return folder;
}
