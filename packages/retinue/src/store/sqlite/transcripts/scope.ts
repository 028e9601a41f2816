/** What an agent may read, as an SQL condition, and what each agent shares. */
import type { AgentSettings, ReadScope } from "../../transcripts.ts";
import type { Rows, Value } from "./rows.ts";

export function sqliteAgents(rows: Rows): AgentSettings {
  return {
    async get(agentId) {
      const found = rows.get("SELECT reads, visibility FROM continuity_agents WHERE agent_id = ?", agentId);
      return {
        reads: found?.reads === "shared" ? "shared" : "isolated",
        visibility: found?.visibility === "global" ? "global" : "private",
      };
    },
    async set(agentId, { reads, visibility }) {
      rows.run("INSERT OR REPLACE INTO continuity_agents VALUES (?, ?, ?)", agentId, reads, visibility);
    },
  };
}

export const OWN_ONLY = "s.agent_id = ?";

/** A condition over `transcript_sessions s`. */
export function readable(rows: Rows, { agentId, folder, isExact }: ReadScope): { where: string; values: Value[] } {
  const shared =
    rows.get("SELECT 1 FROM continuity_agents WHERE agent_id = ? AND reads = 'shared'", agentId) !== undefined;
  const own = shared
    ? "(s.agent_id = ? OR s.agent_id IN (SELECT agent_id FROM continuity_agents WHERE visibility = 'global'))"
    : OWN_ONLY;
  if (folder === undefined) return { where: own, values: [agentId] };
  if (isExact) return { where: `${own} AND s.project = ?`, values: [agentId, folder] };
  const below = folder.endsWith("/") ? folder : `${folder}/`;
  return {
    // A path with `..` in it may lead anywhere, and is in no folder.
    where: `${own} AND (s.project = ? OR substr(s.project, 1, ?) = ?) AND instr(s.project || '/', '/../') = 0`,
    values: [agentId, folder, [...below].length, below],
  };
}
