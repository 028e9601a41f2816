/** Scoped tokens as rows. */
import type { ScopedTokens } from "../../transcripts.ts";
import { type Row, type Rows, text } from "./rows.ts";

export function sqliteTokens(rows: Rows): ScopedTokens {
  const toToken = (row: Row) => ({ name: String(row.name), agentId: text(row.agent_id), project: text(row.project) });
  return {
    async add({ hash, name, agentId, project, at }) {
      const sql = "INSERT INTO continuity_tokens VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
      return rows.run(sql, hash, name, agentId ?? null, project ?? null, at) > 0;
    },
    async find(hash) {
      const found = rows.get("SELECT name, agent_id, project FROM continuity_tokens WHERE hash = ?", hash);
      return found && toToken(found);
    },
    async list() {
      return rows.all("SELECT name, agent_id, project FROM continuity_tokens ORDER BY created_at, name").map(toToken);
    },
    async remove(name) {
      return rows.run("DELETE FROM continuity_tokens WHERE name = ?", name) > 0;
    },
  };
}
