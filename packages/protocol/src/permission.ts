/**
 * What a call needs permission for, how a client answers, and what became of it.
 *
 * `PermissionRequest` is for machines, `PromptRequest` the same thing for a screen, `PermissionDecision` what a client answers,
 * `PermissionResult` what the log keeps. Who decides is the runtime's business.
 */
import * as z from "zod";
import { flag, json, lazy, type Of, open, strings, text } from "./schema.ts";

export const ShellPermission = lazy(() =>
  open({
    kind: z.literal("shell"),
    toolCallId: text(),
    fullCommandText: z.string(),
    intention: z.string(),
    commands: z.array(open({ identifier: z.string(), readOnly: z.boolean() })),
    commandSegments: z.array(open({ identifier: z.string(), fullCommandText: z.string() })).optional(),
    possiblePaths: strings(),
    possibleUrls: z.array(open({ url: z.string() })),
    hasWriteFileRedirection: z.boolean(),
    canOfferSessionApproval: z.boolean(),
    warning: text(),
  }),
);

const writeFields = () => ({
  kind: z.literal("write"),
  toolCallId: text(),
  fileName: z.string(),
  diff: z.string(),
  newFileContents: text(),
  intention: z.string(),
  canOfferSessionApproval: z.boolean(),
  resolvedPath: text(),
});

const readFields = () => ({
  kind: z.literal("read"),
  toolCallId: text(),
  path: z.string(),
  intention: z.string(),
  resolvedPath: text(),
  /** Each path of a call that has several; `path` is then the folder that they have in common. Ours. */
  paths: z.array(open({ path: z.string(), resolvedPath: text() })).optional(),
});

const urlFields = () => ({
  kind: z.literal("url"),
  toolCallId: text(),
  url: z.string(),
  intention: z.string(),
  redirectedFrom: text(),
});

const mcpFields = () => ({
  kind: z.literal("mcp"),
  toolCallId: text(),
  serverName: z.string(),
  toolName: z.string(),
  toolTitle: z.string(),
  args: json().optional(),
});

const customToolFields = () => ({
  kind: z.literal("custom-tool"),
  toolCallId: text(),
  toolName: z.string(),
  toolDescription: z.string(),
  args: json().optional(),
});

const hookFields = () => ({
  kind: z.literal("hook"),
  toolCallId: text(),
  toolName: z.string(),
  toolArgs: json().optional(),
  hookMessage: text(),
  workingDirectory: text(),
});

const memoryFields = () => ({
  kind: z.literal("memory"),
  toolCallId: text(),
  action: z.enum(["store", "vote"]).optional(),
  direction: z.enum(["upvote", "downvote"]).optional(),
  fact: z.string(),
  subject: text(),
  reason: text(),
  citations: text(),
});

/** Kinds of extensions and factories: we never ask for them, and show them when another runtime does. */
const foreignKinds = () =>
  [
    open({ kind: z.literal("extension-management"), toolCallId: text(), operation: z.string() }),
    open({ kind: z.literal("factory"), toolCallId: text(), name: z.string(), description: z.string() }),
    open({
      kind: z.literal("extension-permission-access"),
      toolCallId: text(),
      extensionName: z.string(),
      capabilities: strings(),
    }),
    open({
      kind: z.literal("extension-env-access"),
      toolCallId: text(),
      extensionName: z.string(),
      environmentVariables: strings(),
    }),
  ] as const;

/** What a call wants to do, for rules and policies. */
export const PermissionRequest = lazy(() =>
  z.discriminatedUnion("kind", [
    ShellPermission(),
    open(writeFields()),
    open(readFields()),
    open(urlFields()),
    open({ ...mcpFields(), readOnly: z.boolean() }),
    open({ ...customToolFields(), skipPermission: flag() }),
    open(hookFields()),
    open(memoryFields()),
    ...foreignKinds(),
  ]),
);
export type PermissionRequest = Of<typeof PermissionRequest>;
export type PermissionKind = PermissionRequest["kind"];

/** The same for a screen: a shell becomes `commands`, an MCP tool loses its prefix, a path outside the folders is `path`. */
export const PromptRequest = lazy(() =>
  z.discriminatedUnion("kind", [
    open({
      kind: z.literal("commands"),
      toolCallId: text(),
      fullCommandText: z.string(),
      intention: z.string(),
      commandIdentifiers: strings(),
      canOfferSessionApproval: z.boolean(),
      warning: text(),
    }),
    open(writeFields()),
    open(readFields()),
    open(urlFields()),
    open({ ...mcpFields(), canOfferServerWideApproval: flag() }),
    open(customToolFields()),
    open({
      kind: z.literal("path"),
      toolCallId: text(),
      accessKind: z.enum(["read", "shell", "write"]),
      paths: strings(),
    }),
    open(hookFields()),
    open(memoryFields()),
    ...foreignKinds(),
  ]),
);
export type PromptRequest = Of<typeof PromptRequest>;

/** Which later requests an answer also covers. */
export const Approval = lazy(() =>
  z.discriminatedUnion("kind", [
    open({ kind: z.literal("commands"), commandIdentifiers: strings() }),
    open({ kind: z.literal("read") }),
    open({ kind: z.literal("write") }),
    open({ kind: z.literal("mcp"), serverName: z.string(), toolName: z.string().nullable() }),
    open({ kind: z.literal("mcp-sampling"), serverName: z.string() }),
    open({ kind: z.literal("memory") }),
    open({ kind: z.literal("custom-tool"), toolName: z.string() }),
    open({ kind: z.literal("extension-management"), operation: text() }),
    open({ kind: z.literal("factory"), approvalKey: text() }),
    open({ kind: z.literal("extension-permission-access"), extensionName: z.string() }),
    open({
      kind: z.literal("extension-env-access"),
      extensionName: z.string(),
      environmentVariables: strings(),
    }),
  ]),
);
export type Approval = Of<typeof Approval>;

/** How a client answers a request. */
export const PermissionDecision = lazy(() =>
  z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("approve-once"), approvedInteractively: flag() }),
    z.object({
      kind: z.literal("approve-for-session"),
      approval: Approval().optional(),
      domain: text(),
    }),
    z.object({ kind: z.literal("approve-for-location"), approval: Approval(), locationKey: z.string() }),
    z.object({ kind: z.literal("approve-permanently"), domain: z.string() }),
    z.object({ kind: z.literal("reject"), feedback: text() }),
    z.object({ kind: z.literal("user-not-available") }),
    z.object({ kind: z.literal("cancelled"), reason: text() }),
  ]),
);
export type PermissionDecision = Of<typeof PermissionDecision>;

/** A decision, or anything else: a client that answers nonsense must cause a denial and not leave the call waiting. */
export const PermissionAnswer = lazy(() =>
  z.union([PermissionDecision(), z.unknown().transform((given) => ({ kind: "unknown" as const, given }))]),
);
export type PermissionAnswer = Of<typeof PermissionAnswer>;

export const PermissionRule = lazy(() => z.object({ kind: z.string(), argument: z.string().nullable() }));
export type PermissionRule = Of<typeof PermissionRule>;

/** Rules, folders and addresses of a session, set in one go. What is left out stays as it is. */
export const PermissionSettings = lazy(() =>
  z.object({
    approveAllToolPermissionRequests: flag(),
    approveAllReadPermissionRequests: flag(),
    rules: z
      // A misspelt key would be a rule that nobody applies.
      .strictObject({ approved: z.array(PermissionRule()), denied: z.array(PermissionRule()) })
      .partial()
      .optional(),
    paths: z
      .object({
        unrestricted: flag(),
        additionalDirectories: strings().optional(),
        includeTempDirectory: flag(),
        workspacePath: text(),
      })
      .optional(),
    urls: z.object({ unrestricted: flag(), initialAllowed: strings().optional() }).optional(),
  }),
);
export type PermissionSettings = Of<typeof PermissionSettings>;

/** What became of a request, as the log keeps it. */
export const PermissionResult = lazy(() =>
  z.discriminatedUnion("kind", [
    open({ kind: z.literal("approved") }),
    open({ kind: z.literal("approved-for-session"), approval: Approval().optional() }),
    open({ kind: z.literal("approved-for-location"), approval: Approval(), locationKey: z.string() }),
    open({ kind: z.literal("cancelled"), reason: text() }),
    open({ kind: z.literal("denied-by-rules"), rules: z.array(PermissionRule()) }),
    open({ kind: z.literal("denied-no-approval-rule-and-could-not-request-from-user") }),
    open({ kind: z.literal("denied-interactively-by-user"), feedback: text() }),
    open({ kind: z.literal("denied-by-content-exclusion-policy"), path: z.string(), message: z.string() }),
    open({ kind: z.literal("denied-by-permission-request-hook"), message: text() }),
  ]),
);
export type PermissionResult = Of<typeof PermissionResult>;

/** The answer of a client of protocol 2 to `permission.request`. */
export const PermissionAnswerV2 = lazy(() => z.object({ result: z.object({ kind: z.string() }) }));

export const PermissionMode = lazy(() => z.enum(["manual", "assisted", "allow-all"]));
export type PermissionMode = Of<typeof PermissionMode>;
