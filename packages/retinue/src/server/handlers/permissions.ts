/** Permissions of a session apart from single answers: modes, rules, folders, addresses. */
import { resolve } from "node:path";
import type { Approval, PermissionRule } from "@retinue/protocol";
import type { HostedSession } from "../../host/hosted-session.ts";
import { knownNames, setPermissions } from "../../host/permission-settings.ts";
import { folderTrustOf, followTrust, trustProject } from "../../host/project-trust.ts";
import { existingFolder } from "../../workspace/folders.ts";
import { gitContext } from "../../workspace/git-context.ts";
import { type Handlers, hosted } from "../handler.ts";

const done = { success: true };

export const permissionHandlers: Handlers = {
  "session.permissions.notifyPromptShown": (params, scope) => {
    hosted(params, scope);
    return done;
  },
  "session.permissions.getMode": (params, scope) => ({ mode: hosted(params, scope).tree.rules.policy.mode }),
  "session.permissions.setMode": (params, scope) => {
    const { session, tree } = hosted(params, scope);
    const previousMode = tree.rules.policy.mode;
    const { mode } = params;
    tree.rules.change({ mode });
    if (mode !== previousMode) session.append("session.permissions_changed", { previousMode, mode });
    return { ...done, mode };
  },
  "session.permissions.setApproveAll": (params, scope) => {
    hosted(params, scope).tree.rules.change({ approveAll: params.enabled });
    return done;
  },
  "session.permissions.setRequired": (params, scope) => {
    const { tree } = hosted(params, scope);
    const participant = tree.participants.of(scope.client);
    if (!participant) return { success: false };
    participant.config = { ...participant.config, requestPermission: params.required };
    tree.asks.redeliver();
    return done;
  },
  "session.permissions.configure": (params, scope) => {
    setPermissions(hosted(params, scope), params);
    return done;
  },

  "session.permissions.modifyRules": (params, scope) => {
    const { tree } = hosted(params, scope);
    const add = tree.rules.usable(params.add ?? [], { effect: "allow", names: knownNames(tree) });
    const change = { ...params, add };
    if (params.scope === "location") tree.rules.answers.modifyRules(change);
    else tree.rules.modify(change);
    return done;
  },
  "session.permissions.resetSessionApprovals": async (params, scope) => {
    await hosted(params, scope).tree.rules.answers.reset(params);
    return done;
  },
  "session.permissions.locations.resolve": async (params, scope) => {
    hosted(params, scope);
    return await locationOf(params.workingDirectory);
  },
  "session.permissions.locations.apply": async (params, scope) => {
    const { tree, session } = hosted(params, scope);
    const location = await locationOf(params.workingDirectory);
    await session.log.committed(); // Includes answers for that folder that are not committed yet.
    const { changed, approvals, rules } = await tree.rules.answers.useLocation(location.locationKey);
    const appliedRules = [...approvals.flatMap(asRules), ...rules];
    return { ...location, changed, appliedRuleCount: appliedRules.length, appliedDirectoryCount: 0, appliedRules };
  },
  "session.permissions.locations.addToolApproval": (params, scope) => {
    hosted(params, scope).tree.rules.answers.keep(params.approval, params.locationKey);
    return done;
  },

  "session.permissions.paths.list": (params, scope) => {
    const { policy, places } = hosted(params, scope).tree.rules;
    return { directories: [...policy.directories], primary: places.primary };
  },
  "session.permissions.paths.add": (params, scope) => {
    const target = hosted(params, scope);
    target.tree.rules.places.add(existingFolder(target.session, params.path));
    return done;
  },
  "session.permissions.paths.updatePrimary": (params, scope) => {
    const target = hosted(params, scope);
    target.tree.rules.places.primary = existingFolder(target.session, params.path);
    return done;
  },
  "session.permissions.paths.isPathWithinAllowedDirectories": (params, scope) => {
    const target = hosted(params, scope);
    return { allowed: target.tree.rules.places.isAllowed(absolute(target, params.path)) };
  },
  "session.permissions.paths.isPathWithinWorkspace": (params, scope) => {
    const target = hosted(params, scope);
    return { allowed: target.tree.rules.places.isInWorkspace(absolute(target, params.path)) };
  },
  "session.permissions.folderTrust.isTrusted": async (params, scope) => {
    const target = hosted(params, scope);
    const { decision } = await folderTrustOf(target).decisionOn(absolute(target, params.path));
    return { trusted: decision === "trusted" };
  },
  "session.permissions.folderTrust.addTrusted": async (params, scope) => {
    const target = hosted(params, scope);
    const folder = existingFolder(target.session, params.path);
    await trustProject(target, folder, scope.sessions.shared.runtime.home);
    await Promise.all(scope.sessions.open.filter(({ isClosing }) => !isClosing).map(followTrust));
    return done;
  },
  "session.permissions.urls.setUnrestrictedMode": (params, scope) => {
    hosted(params, scope).tree.rules.change({ isUrlUnrestricted: params.enabled });
    return done;
  },
};

async function locationOf(workingDirectory: string): Promise<{ locationKey: string; locationType: "repo" | "dir" }> {
  const { cwd, gitRoot } = await gitContext(workingDirectory);
  return gitRoot === undefined
    ? { locationKey: cwd, locationType: "dir" }
    : { locationKey: gitRoot, locationType: "repo" };
}

function asRules(approval: Approval): PermissionRule[] {
  switch (approval.kind) {
    case "commands":
      return approval.commandIdentifiers.map((argument) => ({ kind: "shell", argument }));
    case "mcp":
      return [{ kind: approval.serverName, argument: approval.toolName }];
    case "custom-tool":
      return [{ kind: approval.toolName, argument: null }];
    default:
      return [{ kind: approval.kind, argument: null }];
  }
}

function absolute({ session }: HostedSession, path: string): string {
  return resolve(session.place.workingDirectory, path);
}
