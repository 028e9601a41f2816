/** Context boards in SQLite: one row for each entry, and one for the claim of a board. */
import type { BoardBounds, BoardChange, BoardEntry, BoardPlace, Boards } from "../boards.ts";
import type { Database } from "../sqlite-door.ts";
import { inTransaction } from "./transaction.ts";

export const BOARD_TABLES = `
  CREATE TABLE board_entries (
    n INTEGER PRIMARY KEY AUTOINCREMENT, repository TEXT NOT NULL, branch TEXT NOT NULL, position INTEGER NOT NULL,
    text TEXT NOT NULL, at INTEGER NOT NULL, agent TEXT NOT NULL, session_id TEXT
  );
  CREATE INDEX board_entries_by_place ON board_entries (repository, branch, position);
  CREATE TABLE board_claims (
    repository TEXT NOT NULL, branch TEXT NOT NULL, id TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (repository, branch)
  ) WITHOUT ROWID;
`;

const HERE = "WHERE repository = ? AND branch = ?";

export function boardTable(db: Database, { scrub }: { scrub: () => Promise<void> }): Boards {
  const list = db.prepare(`SELECT n, text, at, agent, session_id FROM board_entries ${HERE} ORDER BY position`);
  const branches = db.prepare(
    "SELECT branch, count(*) AS entries FROM board_entries WHERE repository = ? GROUP BY branch ORDER BY max(at) DESC, branch",
  );
  const clear = db.prepare(`DELETE FROM board_entries ${HERE}`);
  const claim = db.prepare(`SELECT id, json FROM board_claims ${HERE}`);
  const putClaim = db.prepare(
    "INSERT INTO board_claims (repository, branch, id, json) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET id = excluded.id, json = excluded.json",
  );
  const removeClaim = db.prepare(`DELETE FROM board_claims ${HERE}`);
  const change = entryChanges(db, (place) => list.all(place.repository, place.branch).map(toEntry));
  const claimOf = ({ repository, branch }: BoardPlace) => {
    const found = claim.get(repository, branch);
    return found && { id: String(found.id), json: String(found.json) };
  };
  return {
    read: async ({ repository, branch }) => list.all(repository, branch).map(toEntry),
    branches: async (repository) =>
      branches.all(repository).map((row) => ({ branch: String(row.branch), entries: Number(row.entries) })),
    change: async (place, wanted) => inTransaction(db, () => change(place, wanted)),
    async clear({ repository, branch }) {
      const count = inTransaction(db, () => {
        removeClaim.run(repository, branch);
        return Number(clear.run(repository, branch).changes);
      });
      if (count > 0) await scrub(); // Somebody wants it gone, also from the free pages of the file.
      return count;
    },
    claim: async (place) => claimOf(place),
    async exchangeClaim({ repository, branch }, { expected, next }) {
      return inTransaction(db, () => {
        if (claimOf({ repository, branch })?.id !== expected) return false;
        if (next) putClaim.run(repository, branch, next.id, next.json);
        else removeClaim.run(repository, branch);
        return true;
      });
    },
  };
}

/** Must be called in a transaction. */
function entryChanges(db: Database, read: (place: BoardPlace) => BoardEntry[]) {
  const remove = db.prepare("DELETE FROM board_entries WHERE n = ?");
  const insert = db.prepare(
    "INSERT INTO board_entries (repository, branch, position, text, at, agent, session_id) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING n, text, at, agent, session_id",
  );
  const renew = db.prepare(
    "UPDATE board_entries SET position = ?, at = ?, agent = ?, session_id = ? WHERE n = ? RETURNING n, text, at, agent, session_id",
  );
  const last = db.prepare(`SELECT max(position) AS position FROM board_entries ${HERE}`);
  return (place: BoardPlace, { remove: ids = [], add = [], bounds }: BoardChange) => {
    const { repository, branch } = place;
    const removed = read(place).filter(({ id }) => ids.includes(id));
    for (const { id } of removed) remove.run(numberOf(id));
    let position = Number(last.get(repository, branch)?.position ?? 0);
    const added = add.map(({ text, at, agent, sessionId = null }) => {
      const known = read(place).find((entry) => entry.text === text);
      const row = known
        ? renew.get(++position, at, agent, sessionId, numberOf(known.id))
        : insert.get(repository, branch, ++position, text, at, agent, sessionId);
      return toEntry(row ?? {});
    });
    const pruned = tooMany(read(place), bounds);
    for (const { id } of pruned) remove.run(numberOf(id));
    return { removed, added, pruned };
  };
}

/** The oldest, which must go so that the rest is within the bounds. */
function tooMany(entries: readonly BoardEntry[], bounds: BoardBounds): BoardEntry[] {
  let bytes = entries.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  let count = entries.length;
  return entries.filter(({ text }) => {
    if (count <= bounds.entries && bytes <= bounds.bytes) return false;
    count--;
    bytes -= Buffer.byteLength(text);
    return true;
  });
}

const PREFIX = "note-";
const numberOf = (id: string): number => Number(id.slice(PREFIX.length));

function toEntry({ n, text, at, agent, session_id }: Record<string, unknown>): BoardEntry {
  return {
    id: `${PREFIX}${n}`,
    text: String(text),
    at: Number(at),
    agent: String(agent),
    ...(typeof session_id === "string" ? { sessionId: session_id } : {}),
  };
}
