/** A session as a row of its table, and back. */
import type { SessionRecord } from "../store.ts";

const COLUMNS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    id: "id",
    rootId: "root_id",
    parentId: "parent_id",
    cwd: "cwd",
    gitRoot: "git_root",
    repository: "repository",
    branch: "branch",
    clientName: "client_name",
    name: "name",
    userNamed: "user_named",
    summary: "summary",
    createdAt: "created_at",
    updatedAt: "updated_at",
  } as const satisfies Record<keyof SessionRecord, string>),
);

/** The names become part of SQL, so only names of columns may pass. */
export function columnOf(name: string): string {
  const column = COLUMNS.get(name);
  if (column === undefined) throw new Error(`sessions have no ${name}`);
  return column;
}

/** In the order of the table. */
export function rowOf(session: SessionRecord): (string | number | null)[] {
  const { id, rootId, parentId, cwd, gitRoot, repository, branch, clientName, name, userNamed, summary } = session;
  const optional = (text: string | undefined) => text ?? null;
  return [
    id,
    rootId,
    optional(parentId),
    cwd,
    ...[gitRoot, repository, branch, clientName, name].map(optional),
    userNamed ? 1 : 0,
    optional(summary),
    session.createdAt,
    session.updatedAt,
  ];
}

export function toSession(found: Record<string, unknown>): SessionRecord {
  const text = (value: unknown) => (value === null || value === undefined ? undefined : String(value));
  return {
    id: String(found.id),
    rootId: String(found.root_id),
    parentId: text(found.parent_id),
    cwd: String(found.cwd),
    gitRoot: text(found.git_root),
    repository: text(found.repository),
    branch: text(found.branch),
    clientName: text(found.client_name),
    name: text(found.name),
    userNamed: found.user_named === 1,
    summary: text(found.summary),
    createdAt: Number(found.created_at),
    updatedAt: Number(found.updated_at),
  };
}
