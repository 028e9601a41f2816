/** Rules, folders and addresses that a client sets in one go: by a call, or when it opens a session. */
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { defined, type PermissionSettings } from "@retinue/protocol";
import { existingFolder } from "../workspace/folders.ts";
import { keepLimits, type LimitedSession } from "./session-limits.ts";

/** Fields that are left out stay as they are. Deny rules are stored at once: they hold for whoever resumes after a crash. */
export function setPermissions(target: LimitedSession, settings: PermissionSettings): void {
  const { rules } = target.tree;
  const {
    approveAllToolPermissionRequests: approveAll,
    approveAllReadPermissionRequests: approveReads,
    paths,
    urls,
  } = settings;
  const { approved, denied } = settings.rules ?? {};
  rules.checkUsable([...(approved ?? []), ...(denied ?? [])]);
  if (paths?.workspacePath) rules.places.primary = existingFolder(target.session, paths.workspacePath);
  const isPathUnrestricted = paths?.unrestricted;
  const isUrlUnrestricted = urls?.unrestricted;
  const allowedDomains = urls?.initialAllowed;
  const directories = paths && directoriesOf(target, paths);
  const change = {
    approveAll,
    approveReads,
    approved,
    denied,
    isPathUnrestricted,
    isUrlUnrestricted,
    allowedDomains,
    directories,
  };
  rules.change(defined(change));
  if (denied) keepLimits(target);
}

function directoriesOf(
  { tree: { rules }, session }: LimitedSession,
  { additionalDirectories, includeTempDirectory }: NonNullable<PermissionSettings["paths"]>,
): string[] {
  const others = rules.policy.directories.filter(
    (directory) => directory !== rules.places.primary && directory !== tmpdir(),
  );
  const additional = additionalDirectories?.map((path) => resolve(session.place.workingDirectory, path)) ?? others;
  const hasTemp = includeTempDirectory ?? rules.policy.directories.includes(tmpdir());
  return [...new Set([rules.places.primary, ...additional, ...(hasTemp ? [tmpdir()] : [])])];
}
