/** What the store knows about a session, in the format of `workspace.yaml`; changing its folder and name. */
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

/** Records that the session works in another folder or repository. An empty string clears what the new place does not have. */
export function recordContext({ session, tree }: HostedSession, context: SessionContext): void {
  const { cwd, gitRoot = "", repository = "", branch = "" } = context;
  tree.configuration.context = context;
  session.log.describe({ cwd, gitRoot, repository, branch });
  session.append("session.context_changed", context);
}

/** Running sub-agents stay in the folder where they were started. */
export async function moveTo(target: HostedSession, path: string): Promise<string> {
  const { session, tree } = target;
  const folder = existingFolder(session, path);
  const context = await gitContext(folder);
  session.place.workingDirectory = folder;
  tree.rules.places.primary = folder;
  recordContext(target, context);
  return folder;
}

/** A name that a person gave is kept; a generated title may be replaced. */
export function rename({ session }: HostedSession, name: string, { byUser }: { byUser: boolean }): void {
  session.log.describe({ name, summary: name, userNamed: byUser });
  session.announce("session.title_changed", { title: name });
}
