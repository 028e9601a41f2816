/** Tokens: the owner's in a file that only the owner reads, scoped ones in the store, by their hash. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { AppError } from "@retinue/protocol";
import type { Database } from "../../store/sqlite-door.ts";
import { type Caller, OWNER } from "./scope.ts";
import { tokenFile } from "./token-file.ts";
import { sql } from "./transaction.ts";

const newToken = () => `rtn_${randomBytes(24).toString("base64url")}`;
const hash = (token: string) => createHash("sha256").update(token).digest("hex");

/** The owner's token; made when there is none. */
export function ownerToken(home: string): string {
  try {
    writeFileSync(tokenFile(home), newToken(), { mode: 0o600, flag: "wx" });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  return readFileSync(tokenFile(home), "utf8").trim();
}

/** Who a token belongs to; undefined when to nobody. */
export function callerOf(db: Database, owner: string, token: string): Caller | undefined {
  const digest = hash(token);
  if (timingSafeEqual(Buffer.from(digest), Buffer.from(hash(owner)))) return OWNER;
  const found = sql(db, "SELECT agent_id, project FROM continuity_tokens WHERE hash = ?").get(digest);
  return found && { agentId: found.agent_id ?? undefined, project: found.project ?? undefined };
}

export interface NewToken extends Caller {
  name: string;
  at: number;
}

export function createToken(db: Database, { name, agentId, project, at }: NewToken): string {
  if (agentId === undefined && project === undefined)
    throw new AppError("invalid_params", "A scoped token needs an agent, a project, or both");
  if (sql(db, "SELECT 1 FROM continuity_tokens WHERE name = ?").get(name))
    throw new AppError("invalid_params", `There is a token ${name} already`);
  const token = newToken();
  sql(db, "INSERT INTO continuity_tokens VALUES (?, ?, ?, ?, ?)").run(
    hash(token),
    name,
    agentId ?? null,
    project ?? null,
    at,
  );
  return token;
}

export function listTokens(db: Database) {
  return sql(db, "SELECT name, agent_id, project FROM continuity_tokens ORDER BY created_at, name")
    .all()
    .map((row) => ({ name: String(row.name), agentId: row.agent_id ?? undefined, project: row.project ?? undefined }));
}

export function removeToken(db: Database, name: string): boolean {
  return sql(db, "DELETE FROM continuity_tokens WHERE name = ?").run(name).changes > 0;
}
