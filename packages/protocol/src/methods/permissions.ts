/** Calls about permissions: answers, modes, rules, folders and addresses. */
import * as z from "zod";
import { byName, justSession, method, ofSession, success } from "../method.ts";
import {
  Approval,
  PermissionAnswer,
  PermissionMode,
  PermissionRule,
  PermissionSettings,
  PromptRequest,
} from "../permission.ts";
import { flag, json, lazy, strings, text } from "../schema.ts";

const aPath = lazy(() => ofSession({ path: z.string() }));
const aFolder = lazy(() => ofSession({ workingDirectory: z.string() }));
const allowed = lazy(() => z.object({ allowed: z.boolean() }));
const location = () => ({ locationKey: z.string(), locationType: z.enum(["repo", "dir"]) });

const answering = byName(
  method("session.permissions.handlePendingPermissionRequest", {
    summary: "Answers `permission.requested`; false when it is settled already.",
    params: () =>
      ofSession({
        requestId: z.string(),
        result: PermissionAnswer().default({ kind: "unknown", given: undefined }),
        decisionContext: json().optional(),
      }),
    result: success,
  }),
  method("session.permissions.pendingRequests", {
    summary: "Requests that wait for an answer.",
    params: justSession,
    result: () => z.object({ items: z.array(z.object({ requestId: z.string(), request: PromptRequest() })) }),
  }),
  method("session.permissions.notifyPromptShown", {
    summary: "Tells the runtime that a person sees the request.",
    params: () => ofSession({ message: z.string() }),
    result: success,
  }),
);

const modes = byName(
  method("session.permissions.getMode", {
    summary: "The permission mode.",
    params: justSession,
    result: () => z.object({ mode: PermissionMode() }),
  }),
  method("session.permissions.setMode", {
    summary: "Changes the permission mode; `allow-all` asks nobody.",
    params: () => ofSession({ mode: PermissionMode(), assistedApprovalModel: text(), source: text() }),
    result: () => z.object({ success: z.boolean(), mode: PermissionMode() }),
  }),
  method("session.permissions.setApproveAll", {
    summary: "Approves everything while it is on.",
    params: () => ofSession({ enabled: z.boolean(), source: text() }),
    result: success,
  }),
  method("session.permissions.setRequired", {
    summary: "Whether this client can be asked.",
    params: () => ofSession({ required: z.boolean() }),
    result: success,
  }),
  method("session.permissions.configure", {
    summary: "Sets rules, folders and addresses in one go.",
    params: () => ofSession(PermissionSettings().shape),
    result: success,
  }),
);

const rules = byName(
  method("session.permissions.modifyRules", {
    summary: "Adds or removes rules of the session or the folder.",
    params: () =>
      ofSession({
        scope: z.enum(["session", "location"]),
        add: z.array(PermissionRule()).optional(),
        remove: z.array(PermissionRule()).optional(),
        removeAll: flag(),
      }),
    result: success,
  }),
  method("session.permissions.resetSessionApprovals", {
    summary: "Forgets approvals that were given for the session.",
    params: () => ofSession({ includeLocation: flag() }),
    result: success,
  }),
  method("session.permissions.locations.resolve", {
    summary: "The key under which a folder's approvals are kept.",
    params: aFolder,
    result: () => z.object(location()),
  }),
  method("session.permissions.locations.apply", {
    summary: "Takes over the approvals that are kept for a folder.",
    params: aFolder,
    result: () =>
      z.object({
        ...location(),
        changed: z.boolean(),
        appliedRuleCount: z.number(),
        appliedDirectoryCount: z.number(),
        appliedRules: z.array(PermissionRule()),
      }),
  }),
  method("session.permissions.locations.addToolApproval", {
    summary: "Keeps an approval for a folder.",
    params: () => ofSession({ locationKey: z.string(), approval: Approval() }),
    result: success,
  }),
);

const places = byName(
  method("session.permissions.paths.list", {
    summary: "Folders in which tools may work.",
    params: justSession,
    result: () => z.object({ directories: strings(), primary: z.string() }),
  }),
  method("session.permissions.paths.add", {
    summary: "Adds a folder.",
    params: aPath,
    result: success,
  }),
  method("session.permissions.paths.updatePrimary", {
    summary: "Changes the main folder.",
    params: aPath,
    result: success,
  }),
  method("session.permissions.paths.isPathWithinAllowedDirectories", {
    summary: "Whether a path lies in one of the folders.",
    params: aPath,
    result: allowed,
  }),
  method("session.permissions.paths.isPathWithinWorkspace", {
    summary: "Whether a path lies in the working folder.",
    params: aPath,
    result: allowed,
  }),
  method("session.permissions.folderTrust.isTrusted", {
    summary: "Whether the project of a folder is trusted.",
    params: aPath,
    result: () => z.object({ trusted: z.boolean() }),
  }),
  method("session.permissions.folderTrust.addTrusted", {
    summary: "Trusts the project of a folder from now on, with the MCP servers that it names now.",
    params: aPath,
    result: success,
  }),
  method("session.permissions.urls.setUnrestrictedMode", {
    summary: "Whether every address may be fetched.",
    params: () => ofSession({ enabled: z.boolean() }),
    result: success,
  }),
);

export const PERMISSION_METHODS = { ...answering, ...modes, ...rules, ...places };
