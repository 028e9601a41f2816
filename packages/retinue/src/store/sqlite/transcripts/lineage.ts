/** Which session started which, as rows: links without cycles, and queries for ancestors and descendants. */
import type { Row, Rows } from "./rows.ts";

const MAX_DEPTH = 64;

/** A link that would close a cycle is not made, because walks would never end. */
export function linkParent(rows: Rows, { childId, parentId, how }: { childId: number; parentId: number; how: string }) {
  if (lineOf(rows, parentId).includes(childId)) return;
  rows.run("UPDATE transcript_sessions SET parent_id = ?, lineage = ? WHERE id = ?", parentId, how, childId);
}

export function recordNoParent(rows: Rows, { childId, reason }: { childId: number; reason: string }): void {
  rows.run("UPDATE transcript_sessions SET lineage = ? WHERE id = ? AND parent_id IS NULL", reason, childId);
}

/** A session and everything above it, itself first. */
function lineOf(rows: Rows, id: number): number[] {
  const sql = `WITH RECURSIVE line (id, parent_id) AS (
      SELECT id, parent_id FROM transcript_sessions WHERE id = ?
      UNION SELECT s.id, s.parent_id FROM transcript_sessions s JOIN line ON s.id = line.parent_id
    ) SELECT id FROM line LIMIT ${MAX_DEPTH}`;
  return rows.all(sql, id).map((row) => Number(row.id));
}

export function rootOf(rows: Rows, id: number): number {
  return lineOf(rows, id).at(-1) ?? id;
}

/** The id of a session, as a bound value, and the ids of everything below it. */
export const BELOW = `WITH RECURSIVE below (id) AS (
    SELECT CAST(? AS INTEGER) UNION SELECT s.id FROM transcript_sessions s JOIN below ON s.parent_id = below.id
  ) SELECT id FROM below`;

/** Parents before their children. */
export function subtree(rows: Rows, id: number): number[] {
  return rows.all(BELOW, id).map((row) => Number(row.id));
}

/** The whole tree that a session belongs to: its root, then the others in the order in which they were created. */
export function treeOf(rows: Rows, id: number): Row[] {
  const root = rootOf(rows, id);
  const sql = `SELECT * FROM transcript_sessions WHERE id IN (${BELOW}) ORDER BY id = ? DESC, id`;
  return rows.all(sql, root, root);
}
