/** Reading events in SQLite; commit.ts writes them. */
import type { Database } from "../sqlite-door.ts";
import type { EventQuery, Events, StoredEvent } from "../store.ts";

export function eventTable(db: Database): Events {
  const count = db.prepare("SELECT count(*) AS n FROM events WHERE root_id = ?");
  const size = db.prepare("SELECT sum(length(CAST(json AS BLOB))) AS bytes FROM events WHERE root_id = ?");
  return {
    async read(rootId, query = {}) {
      return readEvents(db, rootId, query);
    },
    async count(rootId) {
      return Number(count.get(rootId)?.n);
    },
    async size(rootId) {
      return Number(size.get(rootId)?.bytes ?? 0);
    },
  };
}

function readEvents(db: Database, rootId: string, query: EventQuery): StoredEvent[] {
  const { after = -1, before = Number.MAX_SAFE_INTEGER, limit = -1, sessionId, backward = false } = query;
  const bySession = sessionId === undefined ? "" : " AND session_id = ?";
  const found = db
    .prepare(
      `SELECT pos, session_id, type, json FROM events WHERE root_id = ? AND pos > ? AND pos < ?${bySession}
       ORDER BY pos ${backward ? "DESC" : "ASC"} LIMIT ?`,
    )
    .all(rootId, after, before, ...(sessionId === undefined ? [] : [sessionId]), limit);
  return found.map(({ pos, session_id, type, json }) => ({
    pos: Number(pos),
    sessionId: String(session_id),
    type: String(type),
    json: String(json),
  }));
}
