/** Entities: what work is about (a module, a customer), with attributes and the constraints that always hold for them. */
import type { Database } from "../../store/sqlite-door.ts";
import { inTransaction, sql } from "./transaction.ts";

export const ATTRIBUTE_KINDS = ["attribute", "constraint"] as const;
export type AttributeKind = (typeof ATTRIBUTE_KINDS)[number];

export interface Attribute {
  id: number;
  kind: AttributeKind;
  content: string;
}

export interface Entity {
  name: string;
  agentId: string;
  attributes: Attribute[];
}

/** Adding what is there already changes nothing. */
export function addEntity(db: Database, { agentId, name, at }: { agentId: string; name: string; at: number }): number {
  const add =
    "INSERT INTO entities (agent_id, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET name = name RETURNING id";
  return Number(sql(db, add).get(agentId, name, at).id);
}

export interface NewAttribute {
  agentId: string;
  entity: string;
  kind: AttributeKind;
  content: string;
  at: number;
}

export function addAttribute(db: Database, { agentId, entity, kind, content, at }: NewAttribute): number {
  return inTransaction(db, () => {
    const entityId = addEntity(db, { agentId, name: entity, at });
    const add = `INSERT INTO entity_attributes (entity_id, kind, content, created_at) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET content = content RETURNING id`;
    return Number(sql(db, add).get(entityId, kind, content, at).id);
  });
}

export function removeEntity(db: Database, agentId: string, name: string): boolean {
  return inTransaction(db, () => {
    sql(
      db,
      "DELETE FROM entity_attributes WHERE entity_id = (SELECT id FROM entities WHERE agent_id = ? AND name = ?)",
    ).run(agentId, name);
    return sql(db, "DELETE FROM entities WHERE agent_id = ? AND name = ?").run(agentId, name).changes > 0;
  });
}

export function removeAttribute(db: Database, agentId: string, id: number): boolean {
  const remove =
    "DELETE FROM entity_attributes WHERE id = ? AND entity_id IN (SELECT id FROM entities WHERE agent_id = ?)";
  return sql(db, remove).run(id, agentId).changes > 0;
}

export function listEntities(db: Database, agentId: string): Entity[] {
  const rows = sql(
    db,
    `SELECT e.name, a.id, a.kind, a.content FROM entities e LEFT JOIN entity_attributes a ON a.entity_id = e.id
     WHERE e.agent_id = ? ORDER BY e.id, a.id`,
  ).all(agentId);
  const entities = new Map<string, Entity>();
  for (const row of rows) {
    const name = String(row.name);
    const entity = entities.get(name) ?? { name, agentId, attributes: [] };
    entities.set(name, entity);
    const kind = ATTRIBUTE_KINDS.find((each) => each === row.kind);
    if (kind) entity.attributes.push({ id: Number(row.id), kind, content: String(row.content) });
  }
  return [...entities.values()];
}
