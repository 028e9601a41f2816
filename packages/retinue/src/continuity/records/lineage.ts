/**
 * Who started whom, as recorded facts.
 *
 * A link is made from a signal that names the parent. Where a harness names none, the only running session of the project may be
 * taken; when there are several, the reason is kept instead of a guess.
 */
import type { Database } from "../../store/sqlite-door.ts";
import { redact } from "./redact.ts";
import { sql } from "./transaction.ts";
import { childrenOf, sessionById, type TranscriptSession, toSession } from "./transcripts.ts";

export type Parentage = { parent: TranscriptSession; how: string } | { parent?: undefined; reason: string };

export function linkParent(
  db: Database,
  { childId, parentId, how }: { childId: number; parentId: number; how: string },
): void {
  if (childId === parentId || isAncestor(db, childId, parentId)) return;
  sql(db, "UPDATE transcript_sessions SET parent_id = ?, lineage = ? WHERE id = ?").run(parentId, how, childId);
}

export function recordNoParent(db: Database, childId: number, reason: string): void {
  sql(db, "UPDATE transcript_sessions SET lineage = ? WHERE id = ? AND parent_id IS NULL").run(reason, childId);
}

/** The only running session that could be the parent: same harness, project and agent. */
export function onlyCandidate(db: Database, child: TranscriptSession): Parentage {
  const found = sql(
    db,
    `SELECT * FROM transcript_sessions WHERE agent_id = ? AND harness = ? AND project IS ? AND id <> ? AND ended_at IS NULL LIMIT 2`,
  )
    .all(child.agentId, child.harness, child.project ?? null, child.id)
    .map(toSession);
  const [parent, rival] = found;
  if (!parent) return { reason: "no running session in this project" };
  if (rival) return { reason: "several sessions run in this project; the harness names none" };
  return { parent, how: "the only running session in this project" };
}

export interface LineageNode {
  sessionKey: string;
  harness: string;
  title?: string;
  lineage?: string;
  endedAt?: number;
  children: LineageNode[];
}

/** The whole tree that a session belongs to. */
export function lineageTree(
  db: Database,
  session: TranscriptSession,
  isVisible: (each: TranscriptSession) => boolean = () => true,
): LineageNode {
  const root = rootOf(db, session);
  return node(db, isVisible(root) ? root : session, { depth: 0, isVisible });
}

export function rootOf(db: Database, session: TranscriptSession): TranscriptSession {
  let root = sessionById(db, session.id) ?? session;
  for (let depth = 0; depth < MAX_DEPTH && root.parentId !== undefined; depth++) {
    const parent = sessionById(db, root.parentId);
    if (!parent) return root;
    root = parent;
  }
  return root;
}

/** The session and everything below it. */
export function subtree(db: Database, id: number): number[] {
  return [id, ...childrenOf(db, id).flatMap((child) => subtree(db, child.id))];
}

const MAX_DEPTH = 64;

interface Walk {
  depth: number;
  isVisible: (each: TranscriptSession) => boolean;
}

function node(db: Database, session: TranscriptSession, { depth, isVisible }: Walk): LineageNode {
  const below = depth < MAX_DEPTH ? childrenOf(db, session.id).filter(isVisible) : [];
  const { sessionKey, harness, title, lineage, endedAt } = session;
  return {
    sessionKey,
    harness,
    title: title && redact(title),
    lineage,
    endedAt,
    children: below.map((child) => node(db, child, { depth: depth + 1, isVisible })),
  };
}

/** Whether `id` is above `of`. A link that closed a circle would never end. */
function isAncestor(db: Database, id: number, of: number): boolean {
  let current = sessionById(db, of);
  for (let depth = 0; depth < MAX_DEPTH && current; depth++) {
    if (current.id === id) return true;
    current = current.parentId === undefined ? undefined : sessionById(db, current.parentId);
  }
  return false;
}
