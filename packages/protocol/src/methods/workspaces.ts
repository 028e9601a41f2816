/** Calls on the session's own folder: its record, files and checkpoints. */
import * as z from "zod";
import { byName, justSession, method, nothing, ofSession } from "../method.ts";
import { count, flag, json, lazy, type Of, strings, text } from "../schema.ts";

export const WorkspaceRecord = lazy(() =>
  z.object({
    id: z.string(),
    cwd: text(),
    git_root: text(),
    repository: text(),
    branch: text(),
    name: text(),
    client_name: text(),
    user_named: flag(),
    summary_count: count(),
    created_at: text(),
    updated_at: text(),
  }),
);
export type WorkspaceRecord = Of<typeof WorkspaceRecord>;

const aPath = lazy(() => ofSession({ path: z.string() }));
const workspace = lazy(() => z.object({ workspace: WorkspaceRecord().nullable(), path: text() }));
const DiffMode = lazy(() => z.enum(["unstaged", "branch", "session"]));

const records = byName(
  method("session.workspaces.getWorkspace", {
    summary: "The record of the session's folder.",
    params: justSession,
    result: workspace,
  }),
  method("session.workspaces.ensure", {
    summary: "Makes the folder unless it is there.",
    params: () => ofSession({ context: json().optional() }),
    result: workspace,
  }),
  method("session.workspaces.updateMetadata", {
    summary: "Changes the record of the folder.",
    params: () => ofSession({ context: json().optional(), name: text() }),
    result: workspace,
  }),
  method("session.workspaces.listCheckpoints", {
    summary: "Summaries that compaction wrote.",
    params: justSession,
    result: () =>
      z.object({
        checkpoints: z.array(z.object({ number: z.number(), title: z.string(), filename: z.string() })),
      }),
  }),
  method("session.workspaces.readCheckpoint", {
    summary: "The text of a checkpoint.",
    params: () => ofSession({ number: z.number() }),
    result: () => z.object({ content: z.string().nullable() }),
  }),
  method("session.workspaces.diff", {
    summary: "What changed in the working folder.",
    params: () => ofSession({ mode: DiffMode(), ignoreWhitespace: flag() }),
    result: () =>
      z.object({
        requestedMode: DiffMode(),
        mode: DiffMode(),
        changes: z.array(
          z.object({
            path: z.string(),
            diff: z.string(),
            changeType: z.enum(["added", "modified", "deleted", "renamed"]),
            oldPath: text(),
            isTruncated: flag(),
          }),
        ),
        baseBranch: text(),
        isFallback: z.boolean(),
        unavailableReason: text(),
      }),
  }),
);

const files = byName(
  method("session.workspaces.listFiles", {
    summary: "Files in the folder.",
    params: justSession,
    result: () => z.object({ files: strings() }),
  }),
  method("session.workspaces.readFile", {
    summary: "The text of a file.",
    params: aPath,
    result: () => z.object({ content: z.string() }),
  }),
  method("session.workspaces.createFile", {
    summary: "Writes a file.",
    params: () => ofSession({ path: z.string(), content: z.string() }),
    result: nothing,
  }),
  method("session.workspaces.statFile", {
    summary: "Size and times of a file or folder.",
    params: aPath,
    result: () =>
      z.object({
        isFile: z.boolean(),
        isDirectory: z.boolean(),
        size: z.number(),
        mtimeMs: z.number(),
        birthtimeMs: z.number(),
      }),
  }),
  method("session.workspaces.createDirectory", {
    summary: "Makes a folder.",
    params: () => ofSession({ path: z.string(), recursive: flag() }),
    result: nothing,
  }),
  method("session.workspaces.removePath", {
    summary: "Removes a file or folder.",
    params: () => ofSession({ path: z.string(), recursive: flag(), force: flag() }),
    result: nothing,
  }),
  method("session.workspaces.renamePath", {
    summary: "Renames a file or folder.",
    params: () => ofSession({ source: z.string(), destination: z.string() }),
    result: nothing,
  }),
  method("session.workspaces.saveLargePaste", {
    summary: "Keeps a long text as a file.",
    params: () => ofSession({ content: z.string() }),
    result: () =>
      z.object({
        saved: z.object({ filePath: z.string(), filename: z.string(), sizeBytes: z.number() }).nullable(),
      }),
  }),
);

export const WORKSPACE_METHODS = { ...records, ...files };
