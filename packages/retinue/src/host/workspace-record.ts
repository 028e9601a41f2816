/** What the store knows about a session, in the words of `workspace.yaml`, and the changes of it: place and name. */
import type { SessionContext, WorkspaceRecord } from "@retinue/protocol";
import { listCheckpoints } from "../session/folder.ts";
import { existingFolder } from "../workspace/folders.ts";
import { gitContext } from "../workspace/git-context.ts";
import type { HostedSession } from "./hosted-session.ts";

export async function workspaceRecord({ session, store }: HostedSession): Promise<WorkspaceRecord | null> {
  const { id } = session;
  await session.log.committed();
  const record = await store.sessions.get(id);
  if (!record) return null;
  return {
    id,
    cwd: record.cwd,
    ...(record.gitRoot ? { git_root: record.gitRoot } : {}),
    ...(record.repository ? { repository: record.repository } : {}),
    ...(record.branch ? { branch: record.branch } : {}),
    ...(record.clientName ? { client_name: record.clientName } : {}),
    ...(record.name ? { name: record.name } : {}),
    user_named: record.userNamed,
    summary_count: listCheckpoints(session.place.folder).length,
    created_at: new Date(record.createdAt).toISOString(),
    updated_at: new Date(record.updatedAt).toISOString(),
  };
}

/** The folder or its repository is another one now. An empty text stands for what the new place does not have. */
export function recordContext({ session, tree }: HostedSession, context: SessionContext): void {
  const { cwd, gitRoot = "", repository = "", branch = "" } = context;
  tree.configuration.context = context;
  session.log.describe({ cwd, gitRoot, repository, branch });
  session.append("session.context_changed", context);
}

/** Sub-agents that are at work stay where they are. */
export async function moveTo(target: HostedSession, path: string): Promise<string> {
  const { session, tree } = target;
  const folder = existingFolder(session, path);
  const context = await gitContext(folder);
  session.place.workingDirectory = folder;
  tree.rules.places.primary = folder;
  recordContext(target, context);
  return folder;
}

/** A name that a person gave stays; a title that was made up gives way. */
export function rename({ session }: HostedSession, name: string, { byUser }: { byUser: boolean }): void {
  session.log.describe({ name, summary: name, userNamed: byUser });
  session.announce("session.title_changed", { title: name });
}
