/** The folder of a session: its record, files and checkpoints, and what changed in the folder that it works in. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { AppError, messageOf, type Result } from "@retinue/protocol";
import * as z from "zod";
import type { HostedSession } from "../../host/hosted-session.ts";
import { recordContext, rename, workspaceRecord } from "../../host/workspace-record.ts";
import { createFolder, fileInside, listCheckpoints, listFiles, readCheckpoint } from "../../session/folder.ts";
import { makePrivateFolder, PRIVATE_FOLDER, writePrivateFile } from "../../store/private-files.ts";
import { branchChanges, unstagedChanges } from "../../workspace/git-diff.ts";
import { type CallScope, type Handlers, hosted } from "../handler.ts";

const Context = z.object({
  cwd: z.string(),
  gitRoot: z.string().optional(),
  repository: z.string().optional(),
  branch: z.string().optional(),
});

export const workspaceHandlers: Handlers = {
  "session.workspaces.getWorkspace": async (params, scope) => await answer(hosted(params, scope)),
  "session.workspaces.ensure": async (params, scope) => {
    const target = hosted(params, scope);
    createFolder(target.session.place.folder);
    if (params.context !== undefined) recordContext(target, readContext(params.context));
    return await answer(target);
  },
  "session.workspaces.updateMetadata": async (params, scope) => {
    const target = hosted(params, scope);
    if (params.context !== undefined) recordContext(target, readContext(params.context));
    if (params.name) rename(target, params.name, { byUser: true });
    return await answer(target);
  },
  "session.workspaces.listCheckpoints": (params, scope) => ({ checkpoints: listCheckpoints(folderOf(params, scope)) }),
  "session.workspaces.readCheckpoint": (params, scope) => ({
    content: readCheckpoint(folderOf(params, scope), params.number) ?? null,
  }),
  "session.workspaces.diff": async (params, scope) => await diff(hosted(params, scope), params, scope.signal),

  "session.workspaces.listFiles": (params, scope) => ({ files: listFiles(folderOf(params, scope)) }),
  "session.workspaces.readFile": (params, scope) => ({
    content: onDisk(params.path, () => readFileSync(pathOf(params, scope), "utf8")),
  }),
  "session.workspaces.createFile": (params, scope) => {
    const { session } = hosted(params, scope);
    writeFile(session, params.path, params.content);
  },
  "session.workspaces.statFile": (params, scope) => {
    const stats = onDisk(params.path, () => statSync(pathOf(params, scope)));
    const { size, mtimeMs, birthtimeMs } = stats;
    return { isFile: stats.isFile(), isDirectory: stats.isDirectory(), size, mtimeMs, birthtimeMs };
  },
  "session.workspaces.createDirectory": (params, scope) => {
    const { path, recursive = false } = params;
    onDisk(path, () => mkdirSync(pathOf(params, scope), { recursive, mode: PRIVATE_FOLDER }));
  },
  "session.workspaces.removePath": (params, scope) => {
    const { path, recursive = false, force = false } = params;
    onDisk(path, () => rmSync(pathOf(params, scope), { recursive, force }));
  },
  "session.workspaces.renamePath": (params, scope) => {
    const folder = folderOf(params, scope);
    onDisk(params.source, () => renameSync(fileInside(folder, params.source), fileInside(folder, params.destination)));
  },
  "session.workspaces.saveLargePaste": (params, scope) => {
    const { session } = hosted(params, scope);
    const filePath = writeFile(session, freeName(session.place.folder), params.content);
    return { saved: { filePath, filename: basename(filePath), sizeBytes: Buffer.byteLength(params.content) } };
  },
};

async function answer(target: HostedSession): Promise<Result<"session.workspaces.getWorkspace">> {
  return { workspace: await workspaceRecord(target), path: target.session.place.folder };
}

function folderOf(params: { sessionId: string }, scope: CallScope): string {
  return hosted(params, scope).session.place.folder;
}

function pathOf(params: { sessionId: string; path: string }, scope: CallScope): string {
  return fileInside(folderOf(params, scope), params.path);
}

function writeFile(session: HostedSession["session"], path: string, content: string): string {
  const full = fileInside(session.place.folder, path);
  const operation = existsSync(full) ? "update" : "create";
  onDisk(path, () => {
    makePrivateFolder(dirname(full));
    writePrivateFile(full, content);
  });
  session.append("session.workspace_file_changed", { operation, path });
  return full;
}

function freeName(folder: string): string {
  const taken = new Set(listFiles(folder));
  let number = 1;
  while (taken.has(`paste-${number}.txt`)) number++;
  return `paste-${number}.txt`;
}

function readContext(context: unknown): z.output<typeof Context> {
  const parsed = Context.safeParse(context);
  if (parsed.success) return parsed.data;
  throw new AppError("invalid_params", `invalid parameter 'context': ${z.prettifyError(parsed.error)}`);
}

/** Errors of the file system name the path as the client gave it, not ours. */
function onDisk<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const code = error instanceof Error && "code" in error ? String(error.code) : messageOf(error);
    throw new AppError("invalid_params", code === "ENOENT" ? `File not found: ${path}` : `${path}: ${code}`, {
      cause: error,
    });
  }
}

type Diff = Result<"session.workspaces.diff">;

/** We do not track the file changes of a session, so that mode falls back to unstaged changes, as does a branch without a base. */
async function diff(
  { tree }: HostedSession,
  { mode: requestedMode, ignoreWhitespace }: { mode: Diff["mode"]; ignoreWhitespace?: boolean },
  signal: AbortSignal,
): Promise<Diff> {
  const { gitRoot } = tree.configuration.context;
  const isFallback = requestedMode !== "unstaged";
  const reason = requestedMode === "session" ? { unavailableReason: "file-change-tracking-disabled" } : {};
  const unstaged = { requestedMode, mode: "unstaged", isFallback, ...reason } as const;
  if (gitRoot === undefined) return { ...unstaged, changes: [], unavailableReason: "not-a-git-repository" };
  const onBranch = requestedMode === "branch" ? await branchChanges(gitRoot, { ignoreWhitespace, signal }) : undefined;
  if (onBranch) return { requestedMode, mode: "branch", isFallback: false, ...onBranch };
  return { ...unstaged, changes: await unstagedChanges(gitRoot, { ignoreWhitespace, signal }) };
}
