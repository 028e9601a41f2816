/** Running calls of other harnesses, as rows. */
import type { OpenCalls } from "../../transcripts.ts";
import type { Rows } from "./rows.ts";
import { toSession } from "./session-rows.ts";

export function sqliteCalls(rows: Rows): OpenCalls {
  return {
    async caller(callId) {
      const sql =
        "SELECT s.* FROM transcript_calls c JOIN transcript_sessions s ON s.id = c.session_id WHERE c.call_id = ? LIMIT 2";
      const [only, another] = rows.all(sql, callId);
      return only && !another ? toSession(only) : undefined;
    },
    async unclaimed({ root, since }) {
      const sql = `SELECT c.call_id, c.tool, s.* FROM transcript_calls c JOIN transcript_sessions s ON s.id = c.session_id
        WHERE s.agent_id = ? AND (s.id = ? OR substr(s.session_key, 1, ?) = ?) AND c.claimed_by IS NULL AND c.at > ? ORDER BY c.at`;
      const { agentId, id, sessionKey } = root;
      const found = rows.all(sql, agentId, id, sessionKey.length + 1, `${sessionKey}:`, since);
      return found.map((row) => ({ callId: String(row.call_id), tool: String(row.tool), session: toSession(row) }));
    },
  };
}
