/** Entities with their attributes, as rows. */
import { ATTRIBUTE_KINDS, type Entities, type Entity } from "../../transcripts.ts";
import type { Row, Rows } from "./rows.ts";

export function sqliteEntities(rows: Rows): Entities {
  return {
    async add(entity) {
      addEntity(rows, entity);
    },
    async addAttribute({ agentId, entity, kind, content, at }) {
      return rows.transaction(() => {
        const entityId = addEntity(rows, { agentId, name: entity, at });
        const sql = `INSERT INTO entity_attributes (entity_id, kind, content, created_at) VALUES (?, ?, ?, ?)
          ON CONFLICT DO UPDATE SET content = content RETURNING id`;
        return Number(rows.get(sql, entityId, kind, content, at)?.id);
      });
    },
    async list(agentId) {
      const sql = `SELECT e.name, a.id, a.kind, a.content FROM entities e LEFT JOIN entity_attributes a ON a.entity_id = e.id
        WHERE e.agent_id = ? ORDER BY e.id, a.id`;
      return grouped(rows.all(sql, agentId), agentId);
    },
    async remove(agentId, name) {
      return rows.transaction(() => {
        const attributes =
          "DELETE FROM entity_attributes WHERE entity_id = (SELECT id FROM entities WHERE agent_id = ? AND name = ?)";
        rows.run(attributes, agentId, name);
        return rows.run("DELETE FROM entities WHERE agent_id = ? AND name = ?", agentId, name) > 0;
      });
    },
    async removeAttribute(agentId, id) {
      const sql =
        "DELETE FROM entity_attributes WHERE id = ? AND entity_id IN (SELECT id FROM entities WHERE agent_id = ?)";
      return rows.run(sql, id, agentId) > 0;
    },
  };
}

function addEntity(rows: Rows, { agentId, name, at }: { agentId: string; name: string; at: number }): number {
  const sql =
    "INSERT INTO entities (agent_id, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET name = name RETURNING id";
  return Number(rows.get(sql, agentId, name, at)?.id);
}

/** Groups rows of one attribute each into entities. */
function grouped(found: readonly Row[], agentId: string): Entity[] {
  const entities = new Map<string, Entity>();
  for (const row of found) {
    const name = String(row.name);
    const entity = entities.get(name) ?? { name, agentId, attributes: [] };
    entities.set(name, entity);
    const kind = ATTRIBUTE_KINDS.find((each) => each === row.kind);
    if (kind) entity.attributes.push({ id: Number(row.id), kind, content: String(row.content) });
  }
  return [...entities.values()];
}
