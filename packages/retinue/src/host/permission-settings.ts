/** Rules, folders and addresses that a client sets in one go: by a call, or when it opens a session. */
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { defined, type HostToolSpec, type PermissionSettings } from "@retinue/protocol";
import { existingFolder } from "../workspace/folders.ts";
import { keepLimits, type LimitedSession } from "./session-limits.ts";

/** Fields that are left out stay as they are; `tools` are those of a client that is about to join. Deny rules are stored at once: they hold for whoever resumes after a crash. */
export function setPermissions(
  target: LimitedSession,
  settings: PermissionSettings,
  { tools = [] }: { tools?: readonly HostToolSpec[] } = {},
): void {
  const { rules } = target.tree;
  const {
    approveAllToolPermissionRequests: approveAll,
    approveAllReadPermissionRequests: approveReads,
    paths,
    urls,
  } = settings;
  const names = [...knownNames(target.tree), ...tools.map(({ name }) => name)];
  const approved = settings.rules?.approved && rules.usable(settings.rules.approved, { effect: "allow", names });
  const denied = settings.rules?.denied && rules.usable(settings.rules.denied, { effect: "deny", names });
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

/** Tools of the hosts and servers of the session: a rule may name them, whatever they resemble. */
export function knownNames({ participants, configuration }: LimitedSession["tree"]): string[] {
  return [...participants.tools.map(({ name }) => name), ...Object.keys(configuration.current.mcpServers ?? {})];
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
