/** Calls that are under way in other harnesses: who is about to start a child, and who is asking session_search. */
import type { Database } from "../../store/sqlite-door.ts";
import { isSpawnTool } from "../recall/inherit.ts";
import type { Parentage } from "./lineage.ts";
import { sql } from "./transaction.ts";
import { sessionById, type TranscriptSession } from "./transcripts.ts";

/** A call whose end was never told is forgotten. */
const MAX_AGE = 10 * 60_000;

export function openCall(
  db: Database,
  { sessionId, callId, tool, at }: { sessionId: number; callId: string; tool: string; at: number },
): void {
  sql(db, "INSERT OR REPLACE INTO transcript_calls (call_id, session_id, tool, at) VALUES (?, ?, ?, ?)").run(
    callId,
    sessionId,
    tool,
    at,
  );
}

export function closeCall(db: Database, sessionId: number, callId: string): void {
  sql(db, "DELETE FROM transcript_calls WHERE call_id = ? AND session_id = ?").run(callId, sessionId);
}

export function closeCalls(db: Database, sessionId: number): void {
  sql(db, "DELETE FROM transcript_calls WHERE session_id = ?").run(sessionId);
}

/** The session that made this call. */
export function callingSession(db: Database, callId: string): TranscriptSession | undefined {
  const found = sql(db, "SELECT session_id FROM transcript_calls WHERE call_id = ? LIMIT 2").all(callId);
  return found.length === 1 ? sessionById(db, Number(found[0].session_id)) : undefined;
}

/**
 * The session below `root` that has a spawning call open. Without such a call it is the root itself: that is what the harness named.
 * Calls of several sessions at once leave it open which of them it was.
 */
export function spawningSession(
  db: Database,
  { root, childId, now }: { root: TranscriptSession; childId: number; now: number },
): Parentage {
  const open = sql(
    db,
    `SELECT c.call_id, c.session_id, c.tool FROM transcript_calls c JOIN transcript_sessions s ON s.id = c.session_id
     WHERE s.agent_id = ? AND (s.id = ? OR substr(s.session_key, 1, ?) = ?) AND c.claimed_by IS NULL AND c.at > ? AND s.id <> ? ORDER BY c.at`,
  )
    .all(root.agentId, root.id, root.sessionKey.length + 1, `${root.sessionKey}:`, now - MAX_AGE, childId)
    .filter((call) => isSpawnTool(String(call.tool)));
  const [first] = open;
  if (!first) return { parent: root, how: "named by the harness" };
  if (open.some((call) => call.session_id !== first.session_id))
    return { reason: "several agents of this session were starting one at once" };
  const parent = sessionById(db, Number(first.session_id)) ?? root;
  sql(db, "UPDATE transcript_calls SET claimed_by = ? WHERE call_id = ? AND session_id = ?").run(
    childId,
    first.call_id,
    first.session_id,
  );
  return { parent, how: "its call was open" };
}
